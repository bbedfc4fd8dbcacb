"""Fitting the step-time constants to published measurements, so that anyone can do it again (`manage.py fit`)."""
