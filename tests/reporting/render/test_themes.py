"""Figures and pages share the colours of the themes, and every text has enough contrast to its background."""

import colorsys
import re
from importlib.resources import files

import pytest

from goldrank.reporting.render.themes import THEMES, tokens_css

PAGES = {
    "report": files("goldrank.reporting.document").joinpath("templates"),
    "explorer": files("goldrank.web").joinpath("static"),
    "API": files("goldrank.web").joinpath("templates"),
}


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    ("text", "behind"),
    [
        *((text, behind) for text in ("ink", "soft", "accent") for behind in ("paper", "raised", "sunk")),
        ("ink", "gold_wash"),
        ("accent", "gold_wash"),
        ("right", "right_wash"),
        ("wrong", "wrong_wash"),
        ("accent_ink", "accent"),
    ],
)
def test_text_can_be_read_in_both_themes(theme, text, behind):
    assert contrast(getattr(THEMES[theme], text), getattr(THEMES[theme], behind)) >= 4.5


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_no_colours_of_their_own_and_use_none_that_is_not_there(page):
    known = set(re.findall(r"(--[\w-]+):", tokens_css()))
    for file in PAGES[page].iterdir():
        if file.name.endswith((".css", ".html")):
            text = re.sub(r"@media print \{.*?\n\}", "", file.read_text(), flags=re.DOTALL)
            own = set(re.findall(r"(--[\w-]+):", text)) | {"--tint", "--strength"}
            assert set(re.findall(r"var\((--[\w-]+)", text)) <= known | own, file.name
            assert not re.findall(r"#[0-9a-fA-F]{6}\b|\brgba?\(", text), file.name


@pytest.mark.parametrize("theme", THEMES)
def test_series_stand_out_from_the_page_and_from_each_other(theme):
    colours = THEMES[theme]
    assert len(set(colours.series)) == len(colours.series) == len(THEMES["light"].series)
    assert all(contrast(colour, colours.raised) >= 2.2 for colour in colours.series)


def test_a_series_has_the_same_hue_in_both_themes():
    def hue(colour):
        return colorsys.rgb_to_hls(*(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)))[::2]

    for light, dark in zip(THEMES["light"].series, THEMES["dark"].series, strict=True):
        (first, saturated), (second, _) = hue(light), hue(dark)
        apart = abs(first - second)
        assert not saturated or min(apart, 1 - apart) < 0.06, (light, dark)
