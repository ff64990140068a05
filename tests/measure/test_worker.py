"""What a worker answers; no process is needed to see it."""

import pytest
from measure.own_mixers import HOG_BYTES

from longarena.measure import worker
from longarena.measure.messages import Command, Order
from longarena.measure.work import Shape, Work
from longarena.measure.worker import StepTimer, serve

SHAPE = Shape(width=16, depth=1, num_heads=2, mlp_width=16)
TURN = Command(do="turn", step="train")
WEIGH = Command(do="weigh", step="train")


def answers(mixer, *commands, **options):
    order = Order(
        model=mixer and SHAPE.with_mixer(mixer, options),
        length=32,
        batch_size=2,
        threads=1,
        memory_limit_bytes=None,
    )
    return list(serve(iter([order.model_dump_json(), *(c.model_dump_json() for c in commands)])))


def test_a_worker_steps_weighs_and_counts():
    turn, weight, count = answers("transformer", TURN, WEIGH, Command(do="count"))
    assert len(turn.timings) == 2
    assert min(timing.seconds for timing in turn.timings) > 0
    assert weight.resident_bytes > weight.live_bytes > 0
    assert count.cost.parameters > 0


def test_a_hog_weighs_what_it_holds():
    [plain], [hog] = (answers(f"measure.own_mixers:{m}", WEIGH) for m in ("Plain", "Hog"))
    assert hog.live_bytes - plain.live_bytes == pytest.approx(HOG_BYTES, rel=0.01)


def test_a_prediction_holds_neither_gradients_nor_moments():
    training, prediction = answers("linear", WEIGH, Command(do="weigh", step="predict"))
    parameters = answers("linear", Command(do="count"))[0].cost.parameters
    assert training.live_bytes - prediction.live_bytes > 3 * 4 * parameters


def test_the_machine_itself_takes_turns():
    [copy] = answers(None, Command(do="turn", step="copy"))
    assert min(timing.seconds for timing in copy.timings) > 0
    assert min(timing.product_seconds for timing in copy.timings) > 0


def test_a_mistake_in_the_options_is_refused_in_its_own_words():
    [answer] = answers("linear", TURN, nonsense=1)
    assert answer.status == "refused"
    assert "unknown option of linear 'nonsense'" in answer.reason


def test_full_memory_is_an_answer():
    [answer] = answers("measure.own_mixers:Greedy", TURN)
    assert answer.status == "out of memory"


def test_a_mixer_that_breaks_is_an_answer():
    [answer] = answers("measure.own_mixers:Broken", TURN)
    assert (answer.status, answer.reason) == ("failed", "ArithmeticError: two and two make five")


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, 3), (0.06, 5)])
def test_a_turn_lasts_for_its_seconds_after_one_step_that_is_not_timed(
    monkeypatch, seconds, expected
):
    now, steps = [0.0], []

    def step():
        steps.append(None)
        now[0] += 0.02 if len(steps) > 1 else 9.0

    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    found = StepTimer(step).take_turn(seconds, lambda: 0.001)
    assert [timing.seconds for timing in found] == pytest.approx([0.02, 0.02])
    assert len(steps) == expected


def test_a_step_is_timed_between_two_products():
    products = iter([1.0, 3.0, 5.0])
    found = StepTimer(lambda: None).take_turn(0.0, lambda: next(products))
    assert [timing.product_seconds for timing in found] == [2.0, 4.0]


def test_a_turn_tells_which_share_of_it_went_into_waiting_for_a_core(monkeypatch):
    now, waited = [0.0], [5.0]

    def step():
        now[0] += 0.1
        waited[0] += 0.02

    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr(worker, "seconds_waited_for_a_core", lambda: waited[0])
    found = StepTimer(step).take_turn(1.0, lambda: 0.001)
    assert [timing.waited for timing in found] == pytest.approx([0.2, 0.2])


def test_only_the_first_step_of_a_kind_makes_it_warm(monkeypatch):
    steps = []
    monkeypatch.setattr(Work, "train", lambda _: steps.append(None))
    warm_up = Command(do="warm up", step="train")
    assert [answer.status for answer in answers("linear", warm_up, WEIGH)] == ["measured"] * 2
    assert len(steps) == 2
