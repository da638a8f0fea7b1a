"""Tests the parts of script/bench cluster that measure nothing: python3 -m unittest discover Benchmarks/bench"""

import shutil
import subprocess
import tempfile
import unittest

from cluster import Balancer, Pair, are_back, metric


class MetricTests(unittest.TestCase):
    TEXT = """# TYPE carillon_connected_devices gauge
carillon_connected_devices 12
carillon_connected_devices_ever 99
carillon_events_total{event="stored"} 3
carillon_events_total{event="sent"} 4.5
"""

    def test_a_value_without_labels(self):
        self.assertEqual(metric(self.TEXT, "carillon_connected_devices"), 12)

    def test_values_with_labels_are_added(self):
        self.assertEqual(metric(self.TEXT, "carillon_events_total"), 7.5)

    def test_a_missing_value_is_zero(self):
        self.assertEqual(metric(self.TEXT, "carillon_events"), 0)


class BackTests(unittest.TestCase):
    BEFORE = {"connected": 30, "reconnects": 2}

    def back(self, connected, reconnects):
        return are_back({"connected": connected, "reconnects": reconnects}, self.BEFORE, 10, 30)

    def test_nobody_is_back_before_anybody_has_noticed(self):
        self.assertFalse(self.back(30, 2))

    def test_all_have_to_be_back(self):
        self.assertFalse(self.back(29, 12))
        self.assertFalse(self.back(30, 11))
        self.assertTrue(self.back(30, 12))


class PairTests(unittest.TestCase):
    def test_the_cpu_of_both_nodes_counts(self):
        class Node:
            def cpu(self):
                return 1.5

        self.assertEqual(Pair(Node(), Node()).cpu(), 3)


class BalancerTests(unittest.TestCase):
    @unittest.skipUnless(shutil.which("haproxy"), "needs haproxy")
    def test_haproxy_accepts_the_configuration(self):
        with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
            file.write(Balancer.configuration(2197, {"one": 5223, "two": 5224}))
            file.flush()
            subprocess.run(["haproxy", "-q", "-c", "-f", file.name], check=True)


if __name__ == "__main__":
    unittest.main()
