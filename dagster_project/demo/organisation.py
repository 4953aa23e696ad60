"""Who the demo is about: an invented company, its units and workloads, and identifiers. Nothing here belongs to a real one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random

NAME = "Example AG (synthetic)"
SEED = "trainledger demo 1"
UNIT = 10**10  # amounts of money and usage are whole numbers of 1e-10, so that sums of what we write are exact
TAG_KEY = "training_run_id"


@dataclass(frozen=True, slots=True)
class Account:
    account_id: str
    name: str


def money(text: str) -> int:
    """Whole 1e-10 units of a decimal text."""
    return int(Decimal(text) * UNIT)


# chips of a node; TPU slices of several hosts have more, as their records tell
NODE_CHIPS = {
    "trn1.2xlarge": 1,
    "trn1.32xlarge": 16,
    "trn2.48xlarge": 16,
    "trn2.3xlarge": 1,
    "p5.48xlarge": 8,
    "v4": 4,
    "v5e": 8,
    "v5p": 4,
    "v6e": 4,
}
# what a chip can do in a second in bf16, as its maker publishes it: 1e12 operations
PEAK_TFLOPS = {
    "trn1.2xlarge": 190,
    "trn1.32xlarge": 190,
    "trn2.48xlarge": 667,
    "trn2.3xlarge": 667,
    "p5.48xlarge": 989,
    "v4": 275,
    "v5e": 197,
    "v5p": 459,
    "v6e": 918,
}


@dataclass(frozen=True, slots=True)
class Workload:
    """What is trained; both clouds run the paired ones under the same pair keys."""

    workload_key: str
    model_name: str
    framework: str
    team: str
    parameters: int
    mfu: float  # the model's operations, of those that its chips could do while they were held
    target_metric: str | None  # None: so many tokens are the aim
    target_direction: str | None  # min or max
    target_value: float | None
    is_steady: bool = False  # the same use in every hour, and every run reaches its target
    libtpu_version: str | None = None  # where records state one
    counts_flops: bool = True  # whether records state model_flops


NEURONX, TORCH = "neuronx-distributed", "torch-neuronx"
LLAMA = Workload("llm-8b-continued-pretraining", "llm-8b", NEURONX, "foundation", 8_000_000_000, 0.495, "eval_loss", "min", 2.12)
BERT = Workload("bert-large-mlm", "bert-large", TORCH, "search", 340_000_000, 0.34, "mlm_accuracy", "max", 0.71)
VIT = Workload("vit-huge-finetune", "vit-h-14", TORCH, "vision", 632_000_000, 0.385, "top1_accuracy", "max", 0.86)
EMBED = Workload("embedding-refresh", "two-tower-1b", TORCH, "recsys", 1_000_000_000, 0.28, "recall_at_100", "max", 0.42)
MOE = Workload("moe-120b-pretraining", "moe-120b", NEURONX, "foundation", 17_000_000_000, 0.33, "eval_loss", "min", 1.94)
SWEEP = Workload("detector-sweep", "detr-xl", TORCH, "vision", 450_000_000, 0.36, "map", "max", 0.55)
SPEECH = Workload("speech-finetune", "speech-600m", TORCH, "vision", 600_000_000, 0.455, "word_accuracy", "max", 0.91)
# what power was metered of: by drivers, by profiles, by NVML, at a rack
RANK = Workload("ranking-pretraining", "ranker-2b", NEURONX, "efficiency", 2_000_000_000, 0.27, "auc", "max", 0.79, True)
RANK_ON = replace(RANK, workload_key="ranking-continued")  # the same again, with profiles
DISTILL = Workload("ranker-distillation", "ranker-300m", NEURONX, "efficiency", 300_000_000, 0.29, "auc", "max", 0.77)
CAPTION = Workload(
    "caption-finetune", "caption-4b", "jax", "efficiency", 4_000_000_000, 0.33, "cider", "max", 1.21, True, "0.0.31"
)
CAPTIONS = (
    CAPTION,
    *(replace(CAPTION, workload_key=key) for key in ("caption-charts", "caption-video")),
)  # three calibrate a type

ALIGN = Workload("alignment-small", "llm-3b", NEURONX, "foundation", 3_000_000_000, 0.31, "reward", "max", 0.3)

PAIR_KEYS = {
    LLAMA.workload_key: tuple(f"llm8b-{n:02d}" for n in range(1, 9)),
    BERT.workload_key: tuple(f"bert-{n:02d}" for n in range(1, 9)),
    VIT.workload_key: tuple(f"vit-{n:02d}" for n in range(1, 3)),
    SPEECH.workload_key: tuple(f"speech-{n:02d}" for n in range(1, 7)),
    RANK.workload_key: tuple(f"rank-{n:02d}" for n in range(1, 7)),
    RANK_ON.workload_key: tuple(f"rank-{n:02d}" for n in range(7, 13)),
}


def digest(*parts: object) -> str:
    """Hex that looks like an identifier and depends on nothing but its parts."""
    return hashlib.sha256("|".join(map(str, (SEED, *parts))).encode()).hexdigest()


def uuid(*parts: object) -> str:
    text = digest("uuid", *parts)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:32]}"


def generator(*parts: object) -> Random:
    return Random(digest("random", *parts))
