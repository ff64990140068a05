"""What every mixer promises, as functions: the tests try them on the table, `check` on your own.

promises.py      lengths, padding, rows, gradients, seeds; causality and stepping where claimed
growth.py        the operations and the largest tensor, as the length grows
fake_device.py   a device that is not there: nothing on the wrong device, nothing read back
check.py         all of them on one mixer, with what fails and why
"""
