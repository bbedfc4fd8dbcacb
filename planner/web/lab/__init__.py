"""The lab: the lesson's runs as pages. Every state is an address."""
