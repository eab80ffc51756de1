"""Developing a picture: gamma, unsharp mask, tone map, histogram stretch.

The picture is made by the script: a sky, a sun, hills, and the grain of a sensor.
"""
from __future__ import annotations

import numpy as np
from report import report

import jitcore


def linear_light(picture):
    """Decoded from the display's power law (sRGB, IEC 61966-2-1) to light."""
    value = picture / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def blurred(light):
    """Each inner pixel with its eight neighbours, weights 1 2 1 both ways."""
    rows = light[:-2] + 2 * light[1:-1] + light[2:]
    return (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) / 16


def unsharp_mask(light, amount):
    """The inner pixels, with ``amount`` of what the blur took away added again."""
    inner = light[1:-1, 1:-1]
    return np.maximum(inner + amount * (inner - blurred(light)), 0)


def tone_map(light, exposure):
    """Reinhard's curve: bright light approaches 1 and never passes it (Reinhard et al. 2002, eq. 3)."""
    bright = light * exposure
    return bright / (1 + bright)


def stretched(light):
    """Between two standard deviations around the mean, from 0 to 1."""
    low, high = light.mean() - 2 * light.std(), light.mean() + 2 * light.std()
    return np.clip((light - low) / (high - low), 0, 1)


@jitcore.accelerate
def develop(picture, amount=0.8, exposure=1.5):
    """``picture`` (height, width, 3) of bytes as floats from 0 to 1, without its one pixel border."""
    light = stretched(tone_map(unsharp_mask(linear_light(picture), amount), exposure))
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def make_picture(height: int, width: int) -> np.ndarray:
    """A landscape, as bytes."""
    rng = np.random.default_rng(4)
    y, x = np.mgrid[0:1:height * 1j, 0:1:width * 1j]
    sky = np.stack([0.35 + 0.4 * y, 0.5 + 0.3 * y, 0.9 - 0.2 * y], axis=-1)
    sun = np.exp(-((x - 0.7) ** 2 + (y - 0.3) ** 2) / 0.003)[..., None] * [1.0, 0.9, 0.6]
    hills = (y > 0.7 + 0.06 * np.sin(9 * x) + 0.03 * np.sin(31 * x + 1))[..., None]
    picture = np.where(hills, [0.15, 0.3, 0.1], sky + sun) + rng.normal(0, 0.02, (height, width, 3))
    return (255 * np.clip(picture, 0, 1)).astype(np.uint8)


def main() -> None:
    picture = make_picture(720, 1280)
    developed = report("Image pipeline, 1280 x 720 in colour", develop, picture, bound=16, pairs=5)
    print(f"  mean brightness {developed.mean():.3f}, black and white clipped to {developed.min():.0f} and"
          f" {developed.max():.0f}")


if __name__ == "__main__":
    main()
