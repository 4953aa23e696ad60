"""Rows of split cost allocation data as AWS documents them: of a pod or task one for its cores, its memory, its accelerators."""

from collections.abc import Iterable

from .builders import ACCOUNT, hour

KINDS = {"vCPU-Hours": "EKS-EC2-vCPU-Hours", "GB-Hours": "EKS-EC2-GB-Hours", "Accelerator-Hours": "EKS-EC2-Accelerator-Hours"}


def pod_arn(name: str, namespace: str = "ml", cluster: str = "c1", account: str = ACCOUNT) -> str:
    return f"arn:aws:eks:us-east-2:{account}:pod/{cluster}/{namespace}/{name}/uid-{name}"


def task_arn(name: str, cluster: str = "batch", account: str = ACCOUNT) -> str:
    return f"arn:aws:ecs:us-east-2:{account}:task/{cluster}/{name}"


def split_rows(
    start: str, machine: str, arn: str, costs: Iterable[float | None], ratios: Iterable[float | None] = (None,) * 3,
    workload: str | None = None, **columns: object,
) -> list[dict]:  # fmt: skip
    """The rows of a pod or a task in an hour: two costs are of cores and memory, a third one is of accelerators."""
    is_task = ":task/" in arn
    tags = {}
    if not is_task:
        _, cluster, namespace, *_ = arn.split("/")
        tags = {"aws_eks_cluster_name": cluster, "aws_eks_namespace": namespace}
        tags |= {"aws_eks_workload_name": workload} if workload else {}
    shared = {
        "line_item_operation": "ECSTask-EC2" if is_task else "EKSPod-EC2",
        "line_item_product_code": "AmazonECS" if is_task else "AmazonEKS",
        "line_item_resource_id": arn,
        "pricing_public_on_demand_cost": 0.0,
        "split_line_item_parent_resource_id": machine,
        "resource_tags": tags | columns.pop("resource_tags", {}),
    }
    return [
        hour(start, 0.0, **shared, pricing_unit=kind, line_item_usage_type=f"USE2-{usage_type}")
        | {"split_line_item_split_cost": cost, "split_line_item_split_usage_ratio": ratio}
        | columns
        for (kind, usage_type), cost, ratio in zip(KINDS.items(), costs, ratios, strict=False)
    ]
