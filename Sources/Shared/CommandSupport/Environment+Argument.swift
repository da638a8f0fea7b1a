public import ArgumentParser
import Notifications

extension Environment: ExpressibleByArgument {}
