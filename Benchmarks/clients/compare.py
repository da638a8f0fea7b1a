"""Runs provider clients, one after the other in each round. Prints what a notification costs each client (the median of
the rounds), and the ratios.

usage: compare.py COUNT ROUNDS LONG FILE

FILE has the command of one client on each line, with @ in place of the count; the first one is ours. LONG is the count
of a further run of our client, which measures its memory; 0 for no such run.
"""

import json
import os
import shlex
import statistics
import subprocess
import sys


def measure(command, count):
    """Makes a client send `count` notifications, all of which must be accepted. Returns its report."""
    words = [str(count) if word == "@" else word for word in command]
    said = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    if said["failed"]:
        sys.exit(f"{said['client']}: {said['failed']} of {count} were not accepted")
    return said


def main():
    count, rounds, long = (int(word) for word in sys.argv[1:4])
    with open(sys.argv[4]) as file:
        commands = [shlex.split(line) for line in file if line.strip()]
    costs, speeds = {}, {}
    for number in range(rounds):
        for command in commands:
            said = measure(command, count)
            costs.setdefault(said["client"], []).append(said["cpuMicrosecondsEach"])
            speeds.setdefault(said["client"], []).append(count / said["seconds"])
        print(f"round {number + 1} of {rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    ours = statistics.median(costs["carillon"])
    print(f"{'client':10} {'CPU µs each':>12} {'lowest':>8} {'highest':>8} {'ours is':>8} {'a second':>9}")
    for client, values in costs.items():
        median = statistics.median(values)
        print(f"{client:10} {median:12.2f} {min(values):8.2f} {max(values):8.2f} {'1/%.1f' % (median / ours):>8} "
              f"{statistics.median(speeds[client]):9.0f}")
    if long:
        said = measure(commands[0], long)
        print(f"{long} notifications through one client: {said['cpuMicrosecondsEach']:.2f} µs each; resident memory at "
              f"each tenth, KB: {' '.join(str(size) for size in said['residentKilobytes'])}")


main()
