import CPages
import Foundation
package import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Runs a server until a signal ends it, and reports to systemd meanwhile.
///
/// The server reports readiness from within ``run(_:_:)``, when signals can end it cleanly: a program that waits for the report
/// may send a signal at once.
package final class Supervisor: Sendable {
    private let format: LogFormat
    private let environment: [String: String]
    private let systemd: SystemdNotifier
    private let state = Mutex(State())

    private struct State {
        var isEnding = false
        var watching: Task<Void, Never>?
    }

    /// Sets the format of the log up for the whole process.
    package init(_ format: LogFormat, environment: [String: String]) {
        self.format = format
        self.environment = environment
        systemd = SystemdNotifier(environment: environment)
        LoggingSystem.bootstrap { format.handler(label: $0, environment: environment) }
    }

    /// Whether to print text for people: not if systemd's journal or a program collects the output.
    package var isForPeople: Bool { format.isForPeople(environment: environment) }

    /// Reports that the server is ready, and from now on that it is alive.
    /// - Parameter check: makes every thread of the server do something.
    package func ready(_ check: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            guard !state.isEnding, state.watching == nil else { return }
            systemd.ready()
            carillon_pages_release()
            state.watching = Task { [systemd] in await systemd.watch(check) }
        }
    }

    private func stopping() {
        let watching = state.withLock { state in
            state.isEnding = true
            return state.watching
        }
        // Cancel this while the event loops still run, and do not wait for its end: an event loop that has ended may
        // never answer.
        watching?.cancel()
        systemd.stopping()
    }

    /// Runs the server until it gets SIGTERM, SIGINT or SIGHUP.
    package func run(_ logger: Logger, _ server: @escaping @Sendable () async throws -> Void) async throws {
        // Of the life cycle's own messages, only warnings and errors matter.
        var quiet = logger
        quiet.logLevel = max(.warning, logger.logLevel)
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: Supervised(supervisor: self, server: server))],
                gracefulShutdownSignals: [.sigterm, .sigint] + (Self.ignoresHangup ? [] : [.sighup]),
                logger: quiet)
        ).run()
    }

    private struct Supervised: ServiceLifecycle.Service {
        let supervisor: Supervisor
        let server: @Sendable () async throws -> Void

        func run() async throws {
            try await withGracefulShutdownHandler {
                try await server()
            } onGracefulShutdown: {
                supervisor.stopping()
            }
        }
    }

    /// Whether the server was started by `nohup`: it stays when its terminal is closed. Otherwise it ends then, in an orderly
    /// way: for example a service that keeps nothing removes its temporary folder.
    private static var ignoresHangup: Bool {
        var action = sigaction()
        guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
