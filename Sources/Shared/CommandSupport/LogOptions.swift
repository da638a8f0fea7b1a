package import ArgumentParser
package import Logging
package import Supervision

/// The options of the log on standard error, which both servers have.
package struct LogOptions: ParsableArguments {
    @Option(name: .customLong("log-format"), help: "The lines of the log on standard error: text or json.")
    package var logFormat: LogFormat?

    @Option(
        name: .customLong("log-level"),
        help:
            "What is less important is not logged: trace, debug, info (the default), notice, warning, error or critical.",
        transform: { try choice($0) })
    package var logLevel: Logger.Level?

    package init() {}
}

extension LogFormat: ExpressibleByArgument {}
