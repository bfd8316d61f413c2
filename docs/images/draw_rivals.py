"""Diagrams of the networks without memory: CNN, ResNet, VIN, ATreeC, I2A."""

from diagram import Box, Diagram


def heads(d: Diagram, x: float, y: float, actions: str) -> None:
    """Logits and value to the right of a hidden layer whose right side is at (x, y)."""
    logits = d.box(x + 70, y - 42, 90, 34, f"logits {actions}", "output")
    value = d.box(x + 70, y + 8, 90, 34, "value 1", "output")
    d.arrow((x, y - 8), logits.left(), label="256")
    d.arrow((x, y + 8), value.left(), label="256")


def cnn() -> Diagram:
    """The two plain networks."""
    d = Diagram("net-cnn", 1130, 300, "CNN: every convolution is followed by ReLU")
    rows = [
        ("Sokoban", "80×80×3", "5", ["conv 8×8 /4\n32", "conv 4×4 /2\n32", "7 convs 4×4\n64"],
         ["80×80×3", "20×20×32", "10×10×32", "6400"]),
        ("Gridworld", "32×32×1", "8", ["2 convs 3×3\n128", "conv 3×3 /2\n128", "4 convs 128,\n1 conv 64, 3×3"],
         ["32×32×1", "32×32×128", "16×16×128", "16384"]),
    ]  # fmt: skip
    for n, (name, shape, actions, convs, shapes) in enumerate(rows):
        y = 60 + 110 * n
        parts = [
            (f"{name}\n{shape}", "data", 90),
            *((text, "conv", 115) for text in convs),
            ("Linear 256\nReLU", "linear", 95),
        ]
        last = d.chain(20, y, parts, shapes, gap=82)[-1]
        heads(d, last.x + last.width, y + 27, actions)
    return d


def resnet() -> Diagram:
    """The three residual networks and the block they share."""
    d = Diagram("net-resnet", 1180, 500, "ResNet")
    rows = [
        ("Boxworld", "14×14×3", "4", "3 convs 2×2\n16, 32, 64", "8 blocks 3×3\n64, two convs",
         ["14×14×3", "14×14×64", "12544"]),
        ("MiniPacman", "15×19×3", "5", "3 convs 2×2\n16, 32, 32", "8 blocks 3×3\n32, two convs",
         ["15×19×3", "15×19×32", "9120"]),
        ("Sokoban", "80×80×3", "5", "sections 1, 2\n32: 8×8 /4, 4×4 /2", "sections 3 to 9\n64: 4×4",
         ["80×80×3", "10×10×32", "6400"]),
    ]  # fmt: skip
    for n, (name, shape, actions, lead, blocks, shapes) in enumerate(rows):
        y = 55 + 90 * n
        parts = [
            (f"{name}\n{shape}", "data", 100),
            (lead, "conv", 150),
            (blocks, "conv", 150),
            ("Linear 256\nReLU", "linear", 95),
        ]
        last = d.chain(20, y, parts, shapes, height=50, gap=90)[-1]
        heads(d, last.x + last.width, y + 25, actions)
    d.frame(
        20,
        330,
        1140,
        130,
        "A residual block (one or two convolutions); a Sokoban section is one conv and two blocks of one conv",
    )
    parts = [("x", "data", 50), ("ReLU", "step", 60), ("conv", "conv", 80), ("ReLU", "step", 60), ("conv", "conv", 80)]
    chain = d.chain(60, 385, parts, ["H×W×C", "H×W×C", "H×W×C", "H×W×C"], height=40, gap=80)
    plus = d.box(890, 385, 40, 40, "+", "step")
    out = d.box(1030, 385, 60, 40, "out", "data")
    d.arrow(chain[-1].right(), plus.left(), label="H×W×C", lift=-11)
    d.arrow(chain[0].bottom(), (85, 447), (910, 447), plus.bottom(), label="H×W×C", segment=1)
    d.arrow(plus.right(), out.left(), label="H×W×C", lift=-11)
    return d


def vin() -> Diagram:
    """Value iteration, with the two ways of looking at its result."""
    d = Diagram("net-vin", 1300, 500, "VIN: K value iterations as convolutions (sizes: Sokoban | Gridworld)")
    image = d.box(20, 205, 130, 66, "I\nencoder's output |\nthe picture", "data")
    reward = d.box(300, 205, 110, 66, "reward\nconv, ReLU,\nconv", "conv")
    d.arrow(image.right(), reward.left(), label="10×10×32 | 32×32×1", lift=-12)
    d.frame(570, 60, 470, 290, "K iterations from V = 0, K = 10 | 36")
    q = d.box(700, 200, 160, 76, "transition\nconv, ReLU, conv\non [R : V]", "conv")
    d.arrow(reward.right(), q.left())
    d.label(490, 226, "R: 10×10×2 | 32×32×8")
    best = d.box(710, 95, 140, 44, "V = max over a", "step")
    d.arrow(q.top(0.75), best.bottom(0.79), label="Q: 10×10×10 | 32×32×8")
    d.arrow(best.left(), (650, 117), (650, 222), q.left(0.29), label="V: H×W×1", segment=1)
    d.text(800, 305, "Q = transition of [R : V]")
    d.text(800, 325, "or, as the second rule: Q = R + γ (transition of V)")
    look = d.box(1110, 205, 130, 66, "attention\nsum over cells\nof A ⊙ Q", "step")
    d.arrow(q.right(), look.left())
    d.label(950, 226, "the last Q, H×W×10 | 8")
    text = "A: where to look\nSokoban: σ(conv, ReLU, conv of I), learned\nGridworld: 1 at the player (brightest pixel)"
    mask = d.box(600, 390, 330, 66, text, "conv")
    d.arrow(image.bottom(), (85, 423), mask.left(), label="I: 10×10×32 | picture 32×32×1", segment=1)
    d.arrow(mask.right(), (1175, 423), look.bottom(), label="10×10 | 32×32", segment=0)
    head = d.box(1120, 120, 110, 46, "Linear 256\nReLU", "linear")
    d.arrow(look.top(), head.bottom(), label="10 | 8")
    logits = d.box(1075, 40, 90, 32, "logits 5 | 8", "output")
    value = d.box(1185, 40, 90, 32, "value 1", "output")
    d.arrow(head.top(0.2), logits.bottom(0.55), label="256")
    d.arrow(head.top(0.9), value.bottom(0.4), label="256")
    return d


def atreec() -> Diagram:
    """The tree of depth 2 and its backup."""
    d = Diagram("net-atreec", 1240, 590, "ATreeC on Sokoban: a tree of depth 2, 5 actions at every node")
    parts = [
        ("picture\n80×80×3", "data", 90),
        ("encoder\n2 convs", "conv", 90),
        ("Linear 512\nReLU", "linear", 100),
        ("s / |s|", "step", 70),
    ]
    chain = d.chain(20, 120, parts, ["80×80×3", "3200", "512"], height=50)
    root = d.box(700, 117, 110, 56, "root\ns0", "data")
    d.arrow(chain[-1].right(), root.left(), label="512", lift=-11)
    critic = d.box(700, 44, 110, 40, "Linear 512→1", "linear")
    d.arrow(root.top(), critic.bottom(), label="512")
    value = d.box(920, 44, 90, 40, "value 1", "output")
    d.arrow(critic.right(), value.left(), label="1", lift=-10)
    level1: list[Box] = []
    for n, name in enumerate(("action 0", "…", "action 4")):
        node = d.box(470 + 230 * n, 240, 110, 50, f"s1\n{name}", "data")
        d.arrow(root.bottom(0.25 + 0.25 * n), node.top(), label="512")
        level1.append(node)
    for node in (level1[0], level1[2]):
        for share in (-1, 0, 1):
            leaf = d.box(node.x + 20 + 72 * share, 365, 64, 40, "s2", "data")
            d.arrow(node.bottom(0.5 + 0.2 * share), leaf.top(), label="512" if share == 0 else "")
    d.text(755, 390, "25 leaves in all")
    logits = d.box(1110, 122, 100, 46, "logits 5\nQ of the root", "output")
    d.arrow(root.right(), logits.left(), label="Q(s0, a), backed up: 5", lift=-11)
    d.frame(20, 215, 370, 180, "From a node s, for every action a")
    d.text(35, 258, "next state: s + tanh(W s + b) + tanh(Wₐ s),", anchor="start")
    d.text(35, 276, "scaled to length one; W: 512×512, Wₐ: 5×512×512", anchor="start")
    d.text(35, 308, "reward r(s, a): Linear 512→64, ReLU, Linear 64→5", anchor="start")
    d.text(35, 340, "value V(s): Linear 512→1", anchor="start")
    d.text(35, 372, "All nodes share these weights.", anchor="start")
    backup(d)
    return d


def backup(d: Diagram) -> None:
    """The rule from the leaves to the root."""
    d.frame(20, 430, 1200, 112, "Backup, from the leaves to the root")
    d.text(35, 470, "Q(s, a) = r(s, a) + γ V'(s after a)", anchor="start")
    d.text(
        35,
        492,
        "V' of a leaf is V; of an inner node (1 - λ) V + λ · (max, or softmax-weighted sum, of its Q)",
        anchor="start",
    )
    d.text(35, 514, "shapes on the way up: V' 25 → Q 5×5 → V' 5 → Q 5", anchor="start")


def i2a() -> Diagram:
    """The agent: imagined rollouts beside the model-free path."""
    d = Diagram("net-i2a", 1240, 560, "I2A on Sokoban: 5 rollouts of 15 imagined steps, one for each first action")
    frame = d.box(20, 235, 100, 56, "frame\n80×80×3", "data")
    d.frame(
        190, 50, 700, 375, "one of 5 rollouts; what is imagined (upper row) takes no gradient from the agent's loss"
    )
    steps: list[Box] = []
    for n, name in enumerate(("step 1", "step 2", "step 15")):
        x = 225 + 245 * n
        model = d.box(x, 105, 130, 60, f"environment\nmodel, {name}", "conv")
        see = d.box(x, 225, 130, 50, "frame processing\n(imagined)", "conv")
        cell = d.box(x, 335, 130, 50, "LSTM 256", "memory")
        d.arrow(model.bottom(), see.top(), label="80×80×3")
        d.arrow(see.bottom(), cell.top(), label="512 + 3 + 5")
        steps.append(model)
        if n:
            before = steps[n - 1]
            d.arrow(before.right(0.75), model.left(0.75), label="80×80×3" if n == 1 else "…")
            d.arrow(before.right(0.2), model.left(0.2), label="policy → action", lift=-9, dashed=True)
            d.arrow((x, 360), (x - 115, 360), label="256" if n == 1 else "…")
    d.arrow(frame.right(0.3), (155, 252), (155, 135), steps[0].left(), label="80×80×3", segment=1)
    d.text(225, 97, "first action: forced", anchor="start")
    note = "LSTM input: 512 of the frame, 3 reward bins, 5 of the action (one-hot); the last step is read first"
    d.text(225, 411, note, anchor="start")
    free = d.box(400, 460, 200, 50, "frame processing\n(model-free path)", "conv")
    d.arrow(frame.bottom(), (70, 485), free.left(), label="80×80×3", segment=1)
    joined = d.box(960, 330, 110, 60, "join", "step")
    d.arrow((225, 370), (205, 370), (205, 440), (920, 440), (920, 375), joined.left(0.75), label="5 × 256", segment=2)
    d.arrow(free.right(), (1015, 485), joined.bottom(), label="512", segment=0)
    head = d.box(960, 220, 110, 50, "Linear\n1792→6", "linear")
    d.arrow(joined.top(), head.bottom(), label="1792")
    logits = d.box(1120, 195, 90, 34, "logits 5", "output")
    value = d.box(1120, 250, 90, 34, "value 1", "output")
    d.arrow(head.right(0.3), logits.left(), label="5", lift=-8)
    d.arrow(head.right(0.8), value.left(), label="1", lift=8)
    return d


def i2a_parts() -> Diagram:
    """Frame processing, rollout policy and environment model."""
    d = Diagram("net-i2a-parts", 1260, 450, "The parts of I2A on Sokoban")
    frame_processing(d)
    rollout_policy(d)
    environment_model(d)
    return d


def frame_processing(d: Diagram) -> None:
    """From a frame to a feature."""
    d.text(20, 62, "Frame processing (two copies)", bold=True, anchor="start")
    parts = [
        ("frame", "data", 70),
        ("conv 8×8 /8\n32", "conv", 100),
        ("conv 3×3\n64", "conv", 90),
        ("conv 3×3\n64", "conv", 90),
        ("Linear 512\nReLU", "linear", 100),
        ("feature", "data", 70),
    ]
    d.chain(20, 75, parts, ["80×80×3", "10×10×32", "10×10×64", "6400", "512"], height=46)


def rollout_policy(d: Diagram) -> None:
    """From a frame to logits."""
    d.text(20, 152, "Rollout policy", bold=True, anchor="start")
    parts = [
        ("frame", "data", 70),
        ("conv 8×8 /8\n16", "conv", 100),
        ("conv 1×1\n16", "conv", 90),
        ("Linear 128\nReLU", "linear", 90),
        ("Linear 5", "linear", 100),
        ("logits", "data", 70),
    ]
    d.chain(20, 165, parts, ["80×80×3", "10×10×16", "1600", "128", "5"], height=46)


def environment_model(d: Diagram) -> None:
    """From a frame and an action to the next frame and the reward."""
    d.text(20, 242, "Environment model", bold=True, anchor="start")
    parts = [
        ("frame", "data", 70),
        ("conv 8×8 /8\n32", "conv", 100),
        ("join with the\ntiled action", "step", 110),
        ("conv 3×3\n37→32", "conv", 90),
        ("2 residual\nblocks, 3×3", "conv", 100),
    ]
    chain = d.chain(20, 290, parts, ["80×80×3", "10×10×32", "10×10×37", "10×10×32"], height=46)
    action = d.box(346, 372, 110, 32, "action, one-hot", "data")
    d.arrow(action.top(), (401, 336), label="5")
    tops = d.chain(
        910,
        255,
        [("conv 3×3\n32", "conv", 80), ("deconv\n8×8 /8", "conv", 70), ("frame", "data", 52)],
        ["", ""],
        height=46,
        gap=62,
    )
    lows = d.chain(
        910,
        330,
        [("conv 3×3\n32", "conv", 80), ("Linear\n3200→3", "linear", 70), ("bins", "data", 52)],
        ["", ""],
        height=46,
        gap=62,
    )
    d.label(1021, 267, "10×10×32")
    d.label(1153, 267, "80×80×3")
    d.label(1021, 342, "3200")
    d.label(1153, 342, "3")
    d.arrow(chain[-1].right(), tops[0].left(), label="10×10×32")
    d.arrow(chain[-1].right(), lows[0].left())


ALL = (cnn, resnet, vin, atreec, i2a, i2a_parts)
