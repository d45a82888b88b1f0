"""A case: a program that must fail, and the texts that the message must contain."""
import dataclasses
import typing

CASES = []


@dataclasses.dataclass(frozen=True)
class Case:
    chapter: str
    title: str
    says: tuple  # parts that Retort's message must contain
    body: typing.Callable  # of a Program; the step that must fail is its last
    starts: bool = True  # whether the program has an environment before its body begins


class Chapter:
    """Cases of one table of the page, in the order in which they are written."""

    def __init__(self, title):
        self.title = title

    def case(self, title, says="", starts=True):
        """Decorator of a function that takes a Program. `says`: pieces of text, separated by spaces."""

        def add(body):
            assert all((self.title, title) != (c.chapter, c.title) for c in CASES), f"two cases {title}"
            CASES.append(Case(self.title, title, tuple(says.split()), body, starts))
            return body

        return add

    def model(self, title, says, text):
        """A model in the syntax of onnx.parser that must not load."""
        self.case(title, "'model.onnx' " + says)(lambda p: p.load(text))

    def run(self, title, says, text, **inputs):
        """A model that loads, and inputs with which it must not run."""

        def body(p):
            session = p.load(text)
            p.run(session, inputs)

        self.case(title, says)(body)
