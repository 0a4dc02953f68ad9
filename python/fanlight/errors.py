class FanlightError(Exception):
    """What the user can do something about: what is wrong, and what to do."""

    def __init__(self, problem: str, advice: str = ""):
        super().__init__(problem)
        self.problem = problem
        self.advice = advice
