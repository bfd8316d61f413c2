"""What the page's requests can be answered with instead of a result: a status and a sentence."""


class Problem(Exception):
    """A request that cannot be served; `place` is the (row, column) of a board that is to blame, from 0."""

    def __init__(self, status: int, message: str, place: tuple[int, int] | None = None):
        super().__init__(message)
        self.status, self.message, self.place = status, message, place

    def as_json(self) -> dict[str, object]:
        """Plain values, as the page gets them."""
        place = {} if self.place is None else {"row": self.place[0], "column": self.place[1]}
        return {"error": self.message} | place
