"""Write every generated page and list again: `python -m tests.docs`."""

from tests.docs import entity_page, lists, map_page

if __name__ == "__main__":
    entity_page.PAGE.write_text(entity_page.page(), encoding="utf-8")
    map_page.PAGE.write_text(map_page.page(), encoding="utf-8")
    for (page, name), make in lists.LISTS.items():
        (lists.ROOT / page).write_text(lists.written(page, name, make), encoding="utf-8")
