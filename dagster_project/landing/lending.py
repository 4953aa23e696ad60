"""What one landing holds, lent to another by links: a question about sources need not read again what was landed before."""

from collections.abc import Iterable, Iterator

from connectors.deliveries import Delivery
from dagster_project.landing.deriving.contents import Contents
from dagster_project.landing.land import Landing
from dagster_project.landing.store import LocalLanding
from dagster_project.landing.versions import connector_version
from dagster_project.settings import SourceSettings


def lend(landing: Landing, source: SourceSettings, deliveries: Iterable[Delivery], to: Landing) -> Iterator[tuple[str, Contents]]:
    """Identity and contents of each delivery that the landing holds as it is listed, and the present code has read."""
    store, other, version = landing.store, to.store, connector_version(source.kind)
    if not isinstance(store, LocalLanding) or not isinstance(other, LocalLanding):
        return
    wanted = {delivery.identity for delivery in deliveries}
    for generation in landing.read(source.name).generations:
        contents = landing.known.contents(generation, version) if generation.identity in wanted else None
        if contents and contents.is_taken:
            made = f"{generation.path}/{version}"
            pairs = ((store.root, other.root, generation.path), (landing.shelf.root, to.shelf.root, made))
            for held, borrowed, folder in pairs:
                (borrowed / folder).mkdir(parents=True)
                for path in (held / folder).iterdir():
                    (borrowed / folder / path.name).symlink_to(path.absolute())
            yield generation.identity, contents
