import ArgumentParser
import Notifications

extension Conformance: ExpressibleByArgument {}
