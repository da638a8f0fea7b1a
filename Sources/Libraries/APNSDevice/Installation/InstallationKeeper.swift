import Connections
package import Foundation
public import NIOCore
import NIOHTTP1
import NIOPosix
import Notifications

/// Keeps an app's installation at the provider server up to date. Call ``update(_:)`` at every launch, and when
/// something changes:
///
/// ```swift
/// let keeper = try InstallationKeeper(server: "https://push.example.com", file: "\(folder)/installation.json") {
///     "ck_…"  // the app's client key, or a token of your identity provider
/// }
/// try await keeper.update(AppInstallation(deviceToken: token, environment: .production, tags: ["news"]))
/// ```
///
/// It sends only if something has changed or a day has passed, and sends again after a failure. It makes the
/// installation's identifier and secret at the first launch and keeps them in the file.
public actor InstallationKeeper {
    /// What ``InstallationKeeper/update(_:)`` did.
    public enum Outcome: Sendable, Hashable {
        /// The provider server has the installation as it is now.
        case sent
        /// Nothing was sent, because the provider server was told the same less than a day ago.
        case unchanged
        /// A newer call has replaced this one.
        case replaced
    }

    /// The settings of a keeper.
    public struct Configuration: Sendable {
        /// The app's bundle ID. It is needed only if several of your apps have the same identity provider.
        public var bundleID: String?
        /// The path of the root certificates in PEM that verify the server's certificate; nil for the system's.
        public var authorityFile: String?
        /// The time for one attempt.
        public var requestTimeout = Duration.seconds(30)
        /// The largest number of attempts of one ``InstallationKeeper/update(_:)``. With the growing delay, ten
        /// attempts take about five minutes. The next launch tries again.
        public var attempts = 10
        /// The event loops that serve the connections.
        public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

        /// The time; tests replace it.
        package var now: @Sendable () -> Date = { Date() }
        /// Waits; tests replace it.
        package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

        /// Creates the default settings.
        public init() {}
    }

    /// After this time, the same is sent again: the server then knows that the installation is in use.
    package static let interval: TimeInterval = 86_400
    /// The first delay after a failure, and the longest.
    private static let delay = GrowingDelay(first: .seconds(1), longest: .seconds(60))

    private let server: ProviderServerAddress
    private let file: InstallationFile
    private let configuration: Configuration
    private let authorization: @Sendable () async throws -> String
    private var last: Task<Result<Outcome, DeviceError>, Never>?

    /// Creates a keeper.
    /// - Parameters:
    ///   - server: the provider server, `https://host`. Without TLS, `http://127.0.0.1:2190`, it has to be on this
    ///     machine.
    ///   - file: the path of a file in which the keeper keeps the identifier and the secret. Its folder has to exist.
    ///     Do not put it into a backup that is restored on another device.
    ///   - configuration: what the keeper may be told; see ``Configuration``.
    ///   - authorization: returns the app's client key, or a token of your identity provider. Called before each
    ///     attempt.
    /// - Throws: ``DeviceError/Code/badAddress`` or ``DeviceError/Code/badAuthority``.
    public init(
        server: String,
        file: String,
        configuration: Configuration = Configuration(),
        authorization: @escaping @Sendable () async throws -> String,
    ) throws(DeviceError) {
        self.server = try ProviderServerAddress(server, authorityFile: configuration.authorityFile)
        self.file = InstallationFile(path: file)
        self.configuration = configuration
        self.authorization = authorization
    }

    /// The installation's identifier, which your backend may want to know.
    /// - Throws: ``DeviceError/Code/storage``.
    public var identifier: String { get throws(DeviceError) { try file.read().id } }

    /// Tells the provider server about the installation, if something has changed or a day has passed. A newer call
    /// replaces the ones before it, so the server always gets the newest state last.
    /// - Throws: ``DeviceError/Code/refused`` if the server refuses the installation, ``DeviceError/Code/storage``, or
    ///   the error of the last attempt, which is temporary.
    @discardableResult
    public func update(_ installation: AppInstallation) async throws(DeviceError) -> Outcome {
        let before = last
        before?.cancel()
        let task = Task<Result<Outcome, DeviceError>, Never> {
            _ = await before?.value
            do throws(DeviceError) {
                return .success(try await self.sendIfNeeded(installation))
            } catch {
                return .failure(error)
            }
        }
        last = task
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }

    /// The key of a notification's payload with the identifier of the message, for ``opened(_:)``.
    public static let messageKey = "carillon-message"

    /// Tells the provider server that the user has opened a notification. Call it with the value of ``messageKey`` in the
    /// payload. It is sent once; if that fails, the notification does not count as opened.
    /// - Throws: ``DeviceError/Code/refused`` if the server does not know the message or the installation,
    ///   ``DeviceError/Code/storage``, or an error that is temporary.
    public func opened(_ message: String) async throws(DeviceError) {
        let body: JSONValue = ["message": .string(message)]
        try await send(.POST, "/opened" + query, Data(body.text.utf8), try file.read())
    }

    /// Tells the provider server the number on the app's icon, from which a message with the badge `+1` counts. Call it when
    /// the app sets the number itself, usually to 0 at its launch. It is sent once.
    /// - Parameter badge: 0 to 99,999.
    /// - Throws: ``DeviceError/Code/refused`` if the server does not know the installation, ``DeviceError/Code/storage``, or
    ///   an error that is temporary.
    public func setBadge(_ badge: Int) async throws(DeviceError) {
        try await send(.PATCH, query, Data(#"{"badge":\#(badge)}"#.utf8), try file.read())
    }

    /// Names the app, if the configuration does.
    private var query: String { configuration.bundleID.map { "?bundleID=\($0.percentEncoded)" } ?? "" }

    private func sendIfNeeded(_ installation: AppInstallation) async throws(DeviceError) -> Outcome {
        var content = try file.read()
        let body = try installation.body(bundleID: configuration.bundleID)
        let digest = InstallationFile.digest(server.url, body)
        if content.sent == digest, let sentAt = content.sentAt {
            let age = configuration.now().timeIntervalSince(sentAt)
            // A clock that was set back gives a negative age.
            if age >= 0, age < Self.interval { return .unchanged }
        }
        var failures = 0
        while !Task.isCancelled {
            do throws(DeviceError) {
                try await send(.PUT, "", body, content)
                content.sent = digest
                content.sentAt = configuration.now()
                try file.write(content)
                return .sent
            } catch {
                failures += 1
                guard error.isTemporary, failures < configuration.attempts else { throw error }
                let delay = Self.delay.delay(afterFailures: failures, random: .random(in: 0...1))
                // A cancelled sleep ends the loop.
                try? await configuration.sleep(.nanoseconds(delay.nanoseconds))
            }
        }
        return .replaced
    }

    /// - Parameter path: what comes after the path of the installation.
    private func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: Data,
        _ content: InstallationFile.Content,
    ) async throws(DeviceError) {
        let key: String
        do {
            key = try await authorization()
        } catch {
            throw DeviceError(.unavailable, "There is no key or token for the provider server: \(error)")
        }
        let answer = try await ProviderExchange.send(
            method, "/v1/installations/\(content.id)\(path)", body,
            headers: [("authorization", "Bearer \(key)"), ("installation-secret", content.secret)], to: server,
            timeout: TimeAmount(configuration.requestTimeout), on: configuration.eventLoopGroup)
        switch answer.status {
        case 200..<300: return
        case 429, 500...: throw DeviceError(.unavailable, answer.cause, reason: String(answer.status))
        default: throw DeviceError(.refused, answer.cause, reason: String(answer.status))
        }
    }
}
