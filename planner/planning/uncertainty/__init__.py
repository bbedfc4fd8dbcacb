"""What the errors of the inputs mean for the answer: probabilities, intervals, and what would change the verdict."""
