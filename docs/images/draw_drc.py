"""Diagrams of DRC(D, N) and of the 1D LSTM(D, N), on Sokoban."""

from diagram import Box, Diagram

GRID = "10×10×32"


def overall() -> Diagram:
    """One time-step of DRC(3, 3): ticks from left to right, modules from bottom to top."""
    d = Diagram("net-drc", 1270, 560, "DRC(3, 3) on Sokoban: one time-step")
    d.frame(330, 50, 560, 400, "memory: 3 modules, 3 ticks (a row shares its weights)")
    picture = d.box(20, 470, 90, 46, "picture x\n80×80×3", "data")
    first = d.box(190, 470, 120, 46, "conv 8×8 /4\nReLU", "conv")
    second = d.box(390, 470, 120, 46, "conv 4×4 /2\nReLU", "conv")
    d.arrow(picture.right(), first.left(), label="80×80×3", lift=-11)
    d.arrow(first.right(), second.left(), label="20×20×32", lift=-11)
    cells = [[d.box(385 + 165 * n, 340 - 115 * row, 100, 60, f"module {row + 1}\ntick {n + 1}", "memory")
              for row in range(3)] for n in range(3)]  # fmt: skip
    for row in range(3):
        before = d.box(170, 340 - 115 * row, 120, 60, f"c{row + 1}, h{row + 1}\nof step t-1", "data")
        after = d.box(940, 340 - 115 * row, 100, 60, f"c{row + 1}, h{row + 1}\nof step t", "data")
        d.arrow(before.right(), cells[0][row].left(), label="2 × " + GRID, lift=-11)
        for n in range(2):
            d.arrow(cells[n][row].right(), cells[n + 1][row].left(), label="c, h", lift=-10)
        d.arrow(cells[2][row].right(), after.left(), label="2 × " + GRID, lift=-11)
        if row == 1:
            initial = d.box(20, 225, 110, 60, "learned c, h\nat a start", "learned")
            d.arrow(initial.right(), before.left(), dashed=True)
    for n in range(3):
        for row in range(2):
            d.arrow(cells[n][row].top(), cells[n][row + 1].bottom(), label=GRID)
    for n in range(2):
        start, end = cells[n][2], cells[n + 1][0]
        middle = start.x + start.width + 32
        d.arrow(start.right(0.8), (middle, start.y + 48), (middle, end.y + 48), end.left(0.8), dashed=True)
        d.label(middle, 300, "h3, top-down")
    joined = d.box(1130, 110, 110, 60, "join\n[i, h3]", "step")
    d.arrow((1040, 140), joined.left(), label=GRID, lift=-11)
    rail_y = 425
    d.arrow(second.right(), (1185, 493), (1185, 170), label="i = " + GRID + " (vision shortcut)", segment=0)
    d.shapes.append(f"<line x1='450' y1='470' x2='450' y2='{rail_y}' stroke='#2d3748' stroke-width='1.4'/>")
    d.shapes.append(f"<line x1='450' y1='{rail_y}' x2='780' y2='{rail_y}' stroke='#2d3748' stroke-width='1.4'/>")
    for n in range(3):
        x = cells[n][0].x + 40
        d.arrow((x + 25, rail_y), (x + 25, 400))
    d.label(697, rail_y + 12, "i to every module at every tick")
    heads(d, joined)
    return d


def heads(d: Diagram, joined: Box) -> None:
    """Policy and value above what the head sees."""
    head = d.box(1130, 36, 110, 46, "Linear 256\nReLU", "linear")
    d.arrow(joined.top(), head.bottom(), label="6400")
    d.box(940, 24, 100, 32, "logits 5", "output")
    d.box(940, 66, 100, 32, "value 1", "output")
    d.arrow(head.left(0.3), (1040, 44), label="256", lift=-7)
    d.arrow(head.left(0.8), (1040, 80), label="256", lift=7)


def tick() -> Diagram:
    """One pass up the stack, with everything that enters a module."""
    d = Diagram("net-drc-tick", 1000, 560, "One tick n: what enters each module (Sokoban sizes)")
    modules: list[Box] = []
    for row in range(3):
        y = 390 - 130 * row
        module = d.box(430, y, 170, 74, f"module {row + 1}\nConvLSTM", "memory")
        own = d.box(120, y, 170, 32, f"c{row + 1}, h{row + 1} of tick n-1", "data")
        pooled = d.box(120, y + 42, 170, 32, f"p{row + 1} = pool h{row + 1}, tick n-1", "step")
        d.arrow(own.right(), module.left(0.22), label="2 × " + GRID)
        d.arrow(pooled.right(), module.left(0.78), label="10×10×128")
        seen = d.box(730, y + 4, 190, 32, "i and the boundary map", "data")
        d.arrow(seen.left(), module.right(0.27), label="10×10×(32+1)")
        after = d.box(730, y + 44, 190, 32, f"c{row + 1}, h{row + 1} of tick n", "data")
        d.arrow(module.right(0.81), after.left(), label="2 × " + GRID)
        modules.append(module)
    for low, high in ((0, 1), (1, 2)):
        d.arrow(modules[low].top(), modules[high].bottom(), label=f"h{low + 1} of tick n, {GRID}")
    top = d.box(420, 498, 190, 32, "h3 of tick n-1 (top-down)", "data")
    d.arrow(top.top(), modules[0].bottom(), label=GRID)
    out = d.box(420, 48, 190, 32, "h3: o after the last tick", "output")
    d.arrow(modules[2].top(), out.bottom(), label=GRID)
    return d


def pool() -> Diagram:
    """Pool-and-inject."""
    d = Diagram("net-pool-and-inject", 1060, 230, "Pool-and-inject: the board's summary, injected into the gates")
    h = d.box(20, 92, 110, 50, "h of tick n-1\n10×10×32", "data")
    largest = d.box(220, 54, 120, 46, "max over\nH and W", "step")
    mean = d.box(220, 134, 120, 46, "mean over\nH and W", "step")
    d.arrow(h.right(0.3), largest.left(), label=GRID)
    d.arrow(h.right(0.7), mean.left(), label=GRID)
    joined = d.box(430, 92, 80, 50, "join\nm", "step")
    d.arrow(largest.right(), joined.left(0.3), label="32")
    d.arrow(mean.right(), joined.left(0.7), label="32")
    linear = d.box(580, 92, 130, 50, "Linear 64→128\nno bias", "linear")
    d.arrow(joined.right(), linear.left(), label="64", lift=-10)
    tile = d.box(780, 92, 100, 50, "tile over\n10×10", "step")
    d.arrow(linear.right(), tile.left(), label="128", lift=-10)
    out = d.box(970, 92, 70, 50, "p", "data")
    d.arrow(tile.right(), out.left(), label="10×10×128", lift=-10)
    return d


def convlstm() -> Diagram:
    """The memory module's equations as a picture."""
    d = Diagram("net-convlstm", 1180, 420, "ConvLSTM module d at tick n")
    names = ["i (encoded)", "h of module below", "own h, tick n-1", "boundary map"]
    channels = [32, 32, 32, 1]
    conv = d.box(330, 120, 130, 170, "conv 3×3\n97→128\nwith bias", "conv")
    for n, (name, width) in enumerate(zip(names, channels, strict=True)):
        entry = d.box(20, 96 + 58 * n, 150, 40, name, "data")
        d.arrow(entry.right(), conv.left(0.12 + 0.25 * n), label=f"10×10×{width}")
    pooled = d.box(330, 330, 130, 44, "p (pool-\nand-inject)", "step")
    plus = d.box(560, 180, 50, 50, "+", "step")
    d.arrow(conv.right(), plus.left(), label="10×10×128", lift=-10)
    d.arrow(pooled.right(), (585, 352), plus.bottom(), label="10×10×128", segment=0)
    gates = []
    for n, (name, function) in enumerate((("f", "σ"), ("i", "σ"), ("o", "σ"), ("new", "tanh"))):
        gate = d.box(710, 60 + 78 * n, 90, 42, f"{name}: {function}", "step")
        d.arrow(plus.right(0.2 + 0.2 * n), gate.left(), label=GRID)
        gates.append(gate)
    cell = d.box(890, 130, 130, 60, "c = f ⊙ c(n-1)\n+ i ⊙ new", "memory")
    before = d.box(890, 50, 130, 40, "c of tick n-1", "data")
    d.arrow(before.bottom(), cell.top(), label=GRID)
    d.arrow(gates[0].right(), cell.left(0.15))
    d.arrow(gates[1].right(), cell.left(0.5))
    d.arrow(gates[3].right(), (845, 315), (845, 182), cell.left(0.87))
    output = d.box(890, 250, 130, 60, "h\no ⊙ tanh(c)", "memory")
    d.arrow(cell.bottom(), output.top(), label=GRID)
    d.arrow(gates[2].right(), (868, 237), (868, 280), output.left())
    out_c = d.box(1090, 140, 70, 40, "c", "data")
    out_h = d.box(1090, 260, 70, 40, "h", "data")
    d.arrow(cell.right(), out_c.left(), label=GRID, lift=-10)
    d.arrow(output.right(), out_h.left(), label=GRID, lift=-10)
    return d


def lstm() -> Diagram:
    """One tick of the 1D LSTM."""
    d = Diagram("net-lstm", 1180, 470, "1D LSTM(3, 3) on Sokoban: the stack is passed 3 times in a time-step")
    parts = [("picture\n80×80×3", "data", 90), ("encoder\n2 convs", "conv", 90), ("Linear 200\nReLU", "linear", 100)]
    chain = d.chain(20, 390, parts, ["80×80×3", "3200"], height=44)
    modules: list[Box] = []
    for row in range(3):
        y = 290 - 100 * row
        module = d.box(560, y, 150, 56, f"LSTM {row + 1}\n200 units", "memory")
        state = d.box(310, y + 8, 140, 40, f"c{row + 1}, h{row + 1}\nof tick n-1", "data")
        d.arrow(state.right(), module.left())
        d.label(492, y + 19, "2 × 200")
        modules.append(module)
    for low, high in ((0, 1), (1, 2)):
        d.arrow(modules[low].top(), modules[high].bottom(), label="200")
    rail = 536
    d.arrow(chain[-1].right(), (rail, 412), (rail, 336), modules[0].left(0.82), label="i, 200", segment=1)
    for row in (1, 2):
        y = modules[row].y + 46
        d.arrow((rail, 336), (rail, y), modules[row].left(0.82))
    joined = d.box(850, 190, 100, 56, "join\n[i, h1, h2, h3]", "step")
    for row, share in ((2, 0.2), (1, 0.5), (0, 0.8)):
        d.arrow(modules[row].right(), joined.left(share), label=f"h{row + 1}, 200")
    d.arrow(chain[-1].right(), (900, 412), joined.bottom(), label="i, 200", segment=0)
    head = d.box(1020, 195, 110, 46, "Linear 256\nReLU", "linear")
    d.arrow(joined.right(), head.left(), label="800", lift=-10)
    logits = d.box(960, 90, 90, 34, "logits 5", "output")
    value = d.box(1075, 90, 90, 34, "value 1", "output")
    d.arrow(head.top(0.3), logits.bottom(), label="256")
    d.arrow(head.top(0.7), value.bottom(), label="256")
    return d


ALL = (overall, tick, pool, convlstm, lstm)
