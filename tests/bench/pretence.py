"""Programs that are not compiled, and take the time that they are said to take."""

from foresight.bench import cases
from foresight.bench.timing import Timing


class Pretence:
    """What would have been compiled is kept, group by group, and what was timed; it may be cut."""

    def __init__(self, monkeypatch, subject, seconds=lambda case: 1.0, memory=0):
        self.compiled, self.timed, self.cut_after = [], [], None
        self.seconds = seconds
        monkeypatch.setattr(cases, "compile_all", self.compile_all)
        monkeypatch.setattr(cases, "memory_needed", lambda program: memory)
        monkeypatch.setattr(cases, "timings", self.timings)
        monkeypatch.setattr(subject, "start", lambda self, case, compiled: case)

    def compile_all(self, lowerings, leave_out, say):
        self.compiled.append(list(map(str, lowerings)))
        return {case: case for case in lowerings}

    def timings(self, case):
        seconds = ()
        while True:
            if len(self.timed) == self.cut_after:
                raise KeyboardInterrupt
            self.timed.append(str(case))
            seconds += (self.seconds(case),)
            yield Timing(seconds)
