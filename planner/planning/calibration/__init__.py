"""A team's own measured runs: predicted beside measured, and a few constants of the step-time model fitted to them."""
