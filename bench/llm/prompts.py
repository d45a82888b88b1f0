"""The prompts of the tests and measurements, in the form on which SmolLM2 was trained."""
QUESTIONS = (
    "What is the capital of France?", "Write a short poem about the sea.", "Explain how a bicycle stays upright.",
    "List three uses of copper.", "Why is the sky blue?", "Translate 'good morning' into Spanish.", "What is 12 times 7?",
    "Tell me a story about a fox and a crow.", "How do I make tea?", "What is a prime number? Give examples: 2, 3, 5, 7.",
    "Write a Python function that adds two numbers.", "Who wrote Hamlet?", "Give me advice for a job interview.",
    "What does the heart do?", "Summarise the water cycle.", "Name the planets of the solar system.", "How far is the moon in km?",
    "What's the difference between weather & climate?", "Describe the colour red to someone who can't see.", "Write a list of five fruits.")
# Some 110 tokens.
LONG = ("Here is a note from the log of a small ship. \"The wind turned north before dawn, and we took in sail. At eight the cook served "
        "porridge, which nobody liked, and at nine the mate found that the compass had been leaning on an iron pot since Tuesday. We are, "
        "it seems, some forty miles east of where the chart says we are. The captain laughed, ordered the pot overboard, and set a new "
        "course for the islands.\" What happened on the ship, and what will happen next?")


def prompt(question):
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
