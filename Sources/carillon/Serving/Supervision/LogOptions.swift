import ArgumentParser
import Logging
import Service

/// The options of the log on standard error, which both servers have.
struct LogOptions: ParsableArguments {
    @Option(name: .customLong("log-format"), help: "The lines of the log on standard error: text or json.")
    var logFormat: LogFormat?

    @Option(
        name: .customLong("log-level"),
        help:
            "What is less important is not logged: trace, debug, info (the default), notice, warning, error or critical.",
        transform: { try choice($0) })
    var logLevel: Logger.Level?
}

extension LogFormat: ExpressibleByArgument {}
