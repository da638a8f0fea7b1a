import ArgumentParser
import Notifications

extension Environment: ExpressibleByArgument {}
extension Conformance: ExpressibleByArgument {}
