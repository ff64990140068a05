from longarena.report.charts.pareto import front


def test_the_front_is_what_nothing_beats():
    #   score
    #    9   a
    #    8       b . d          b is as accurate as d and slower
    #    5       c
    #    1                 e
    #    0           f
    a, b, c, d, e, f = (1, 9), (2, 8), (2, 5), (3, 8), (4, 1), (3, 0)
    assert front([a, b, c, d, e, f]) == [0, 3, 4]


def test_the_front_does_not_depend_on_the_order():
    points = [(3, 0), (4, 1), (3, 8), (2, 5), (2, 8), (1, 9)]
    assert [points[i] for i in front(points)] == [(1, 9), (3, 8), (4, 1)]


def test_two_equal_points_are_both_on_the_front():
    assert sorted(front([(1, 1), (1, 1), (0, 0)])) == [0, 1]


def test_one_that_is_best_in_both_is_the_whole_front():
    assert front([(1, 2), (5, 9), (3, 3)]) == [1]
    assert front([]) == []
