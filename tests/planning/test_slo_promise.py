"""What a plan promises, kept afresh: with drawn errors of the model, over seeds that no sizing used."""

import math

from tests.planning.fresh_seeds import LLAMA_8B, document, promises


def test_the_serving_replicas_meet_the_targets_as_often_as_stated_and_one_fewer_does_not():
    """Two standard deviations of a binomial number and one for what straight lines between simulations miss."""
    enough, fewer = promises(document(LLAMA_8B, "L4", 1, 3.5, 600, 150, ttft_p95_ms=2000, tpot_p95_ms=110))
    for told in (enough, fewer):
        p = told.stated_ratio
        noise = 2 * math.sqrt(told.seeds * p * (1 - p)) + 0.05 * told.seeds
        assert abs(told.met - told.seeds * p) <= noise
    assert fewer.met < enough.met
    assert fewer.stated_ratio < 0.5 < enough.stated_ratio
