"""Sabotages of pictures: what of them is kept, who may read which, and how many there are."""

from typing import Final

from tests.mutants.mutant import Mutant

READING: Final = "tests/domain/test_pictures.py"
ELSE: Final = "tests/attacks/test_a_picture_that_is_something_else.py"
STORES: Final = "tests/contracts/test_pictures.py"
SERVING: Final = "tests/pictures/test_serve.py"
SERVICE: Final = "shared/engine/campaigns/pictures.py"

PICTURES: Final = (
    Mutant(
        "a comment of a JPEG is kept",
        9,
        "shared/domain/pictures/jpeg.py",
        "    return marker != COMMENT\n",
        "    return True\n",
        f"{ELSE}::test_nothing_of_a_second_file_is_kept[a page in a comment of a JPEG]",
    ),
    Mutant(
        "unknown parts of a PNG are kept",
        9,
        "shared/domain/pictures/png.py",
        "    return kind in KEPT\n",
        "    return True\n",
        f"{READING}::test_places_times_cameras_and_texts_are_left_out[0]",
    ),
    Mutant(
        "a picture may have any size",
        10,
        "shared/domain/pictures/parts.py",
        "    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):\n",
        "    if width <= 0 or height <= 0:\n",
        f"{ELSE}::test_a_billion_pixels_in_a_few_bytes_are_refused_by_the_header[PNG of 900 million pixels]",
    ),
    Mutant(
        "a file is left that was put after its picture was deleted",
        9,
        SERVICE,
        "            self.files.remove(found.path)  # it was deleted meanwhile\n",
        "",
        f"{STORES}::test_a_picture_that_is_deleted_while_it_is_added_leaves_no_file_of_its_own[1]",
    ),
    Mutant(
        "a picture is removed before its file",
        9,
        SERVICE,
        "        self.files.remove(picture.path)\n        self.pictures.remove(picture)\n",
        "        self.pictures.remove(picture)\n        self.files.remove(picture.path)\n",
        f"{STORES}::test_a_crash_at_any_call_leaves_no_file_without_a_picture_and_a_repeat_completes[6-after]",
    ),
    Mutant(
        "bytes of pictures are not bounded",
        9,
        "shared/adapters/dynamo/campaigns/pictures.py",
        "(pictures < :most AND #size <= :room)",
        "(pictures < :most OR #size <= :room)",
        f"{STORES}::test_no_room_is_taken_that_is_not_there",
    ),
    Mutant(
        "any file of the bucket is served",
        9,
        "functions/pictures/serve.py",
        "    if place is None or not is_account_id(place[1]):\n",
        "    if place is None:\n",
        f"{SERVING}::test_another_name_than_a_picture_s_is_not_even_looked_up[/images/acc_x/01m3250v00n197k5j0fjpyam13.png]",
    ),
    Mutant(
        "a file of another kind is served as a picture",
        9,
        "functions/pictures/serve.py",
        "    if data is None or not data.startswith(BEGINNINGS[kind]):\n",
        "    if data is None:\n",
        f"{SERVING}::test_a_file_whose_bytes_are_of_another_kind_is_none",
    ),
    Mutant(
        "a process answers a deleted picture for ever",
        9,
        "functions/pictures/services.py",
        "        if found is None or found.until <= now:\n",
        "        if found is None:\n",
        f"{SERVING}::test_a_deleted_picture_is_gone_within_a_minute",
    ),
    Mutant(
        "an account that leaves keeps its pictures",
        9,
        "functions/operate/services.py",
        ", pictures_of(account)]",
        "]",
        "tests/console/test_leaving.py::test_an_account_is_deleted_with_all_that_stays_by_itself_and_no_other",
    ),
)
