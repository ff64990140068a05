"""Two processes with half a batch each compute what one computes with the whole."""

import os
import socket
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from model.cases import classifier, ids

from longarena.model.all_reduce import add_over_processes

pytestmark = pytest.mark.slow

DONE, FAILED = range(2)
# uneven in length, so that the halves have different numbers of real tokens
LENGTHS = [61, 40, 7, 1]


def outcome(model, tokens):
    """Answers, gradients and running values after one training pass."""
    answers = model(tokens)
    answers.square().sum().backward()
    gradients = {f"gradient of {name}": p.grad for name, p in model.named_parameters()}
    return {"answers": answers.detach()} | gradients | dict(model.named_buffers())


def batch_norm_model():
    return classifier("linear", norm="batch", positions="sinusoidal").double()


def model_of_half(rank):
    """Run on this process's half of the batch; add up what the processes found."""
    found = outcome(batch_norm_model(), ids(*LENGTHS)[rank::2])
    for name, tensor in found.items():
        if name.startswith("gradient"):
            dist.all_reduce(tensor)
    return found


def sum_and_gradient(rank):
    """Differentiate a function of the sum that differs from process to process."""
    share = torch.tensor([1.0, 2.0]) * (rank + 1)
    share.requires_grad_()
    total = add_over_processes(share)
    (total * (rank + 10)).sum().backward()
    return {"total": total.detach(), "gradient": share.grad}


def run_by_two(work, folder):
    """Do some work in two forked processes that find each other; return what each found."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    workers = [fork(work, rank, port, folder) for rank in (0, 1)]
    ends = [os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) for worker in workers]
    assert ends == [DONE, DONE]
    return [torch.load(folder / f"{rank}.pt") for rank in (0, 1)]


def fork(work, rank, port, folder):
    worker = os.fork()
    if worker == 0:
        end = FAILED
        try:
            address = f"tcp://127.0.0.1:{port}"
            patience = timedelta(seconds=60)
            dist.init_process_group("gloo", address, patience, world_size=2, rank=rank)
            torch.save(work(rank), folder / f"{rank}.pt")
            dist.destroy_process_group()
            end = DONE
        finally:
            os._exit(end)
    return worker


def test_a_process_alone_adds_nothing():
    share = torch.ones(2)
    assert add_over_processes(share) is share


def test_the_gradient_of_a_sum_is_the_sum_of_gradients(tmp_path):
    for found in run_by_two(sum_and_gradient, tmp_path):
        assert found["total"].tolist() == [3.0, 6.0]
        assert found["gradient"].tolist() == [21.0, 21.0]


def test_batch_norm_over_two_processes_is_that_of_the_whole_batch(tmp_path):
    whole = outcome(batch_norm_model(), ids(*LENGTHS))
    expected_answers = whole.pop("answers")
    for rank, found in enumerate(run_by_two(model_of_half, tmp_path)):
        torch.testing.assert_close(found.pop("answers"), expected_answers[rank::2])
        assert found.keys() == whole.keys()
        for name, tensor in whole.items():
            torch.testing.assert_close(found[name], tensor, atol=1e-10, rtol=1e-8, msg=name)
