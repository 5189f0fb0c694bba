"""Float16 products on tensor cores, added as the kernels of the index add them, to measure their rounding errors."""

import torch
import triton
import triton.language as tl


@triton.jit
def _products(
    left, right, out, columns,
    DEPTH: tl.constexpr, ROWS: tl.constexpr, ITEMS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * ITEMS + tl.arange(0, ITEMS)
    scores = tl.zeros((ROWS, ITEMS), tl.float32)
    for start in range(0, DEPTH, STEP):
        inner = start + tl.arange(0, STEP)
        left_tile = tl.load(left + row[:, None] * DEPTH + inner[None, :])
        right_tile = tl.load(right + column[:, None] * DEPTH + inner[None, :])
        scores = tl.dot(left_tile, right_tile.T, scores)
    tl.store(out + row[:, None] * columns + column[None, :], scores)


def products(left, right, tile):
    """Compute all scores from tiles of the same shape with the same instructions."""
    out = torch.empty((len(left), len(right)), dtype=torch.float32, device=left.device)
    _products[(len(left) // tile.rows, len(right) // tile.items)](
        left, right, out, len(right), DEPTH=left.shape[1], ROWS=tile.rows, ITEMS=tile.items, STEP=tile.step,
        num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip
    return out
