public import Logging
import NIOCore
import Notifications
public import ServiceLifecycle

/// Manages the broadcast channels of apps (Apple, *Sending channel management requests to APNs*).
///
/// ```swift
/// let manager = try ChannelManager(credentials: credentials, environment: .productionChannels)
/// let channel = try await manager.create(keeping: .newest, for: "com.example.app")
/// ```
///
/// APNs has separate servers for the management of channels, so a manager is separate from the ``ProviderClient`` that
/// sends to them. An app may have 10,000 channels in each environment. A channel exists until it is deleted.
public final class ChannelManager: Service, Sendable {
    private let client: ProviderClient

    /// What a channel stores for devices that are offline (`message-storage-policy`).
    public enum StoragePolicy: Int, Sendable, Hashable, CaseIterable {
        /// The channel stores nothing. A broadcast reaches only the devices that are connected.
        case nothing = 0
        /// The channel stores its newest broadcast until it expires.
        case newest = 1
    }

    /// Creates a manager. It opens no connection before the first request.
    /// - Parameters:
    ///   - credentials: as for sending: a signing key, or a certificate for the channels of its app.
    ///   - environment: ``APNSEnvironment/developmentChannels``, ``APNSEnvironment/productionChannels``, or the address
    ///     of another service's management of channels, which `carillon serve` prints as `"channels"`.
    ///   - configuration: settings for connections and deadlines.
    ///   - logger: logs what connections do, at the level info or below.
    /// - Throws: ``ProviderError/Code/badEnvironment`` if the authority's certificate cannot be read.
    public init(
        credentials: ProviderCredentials,
        environment: APNSEnvironment,
        configuration: ProviderClient.Configuration = ProviderClient.Configuration(),
        logger: Logger = Logger(label: "apns-provider") { _ in SwiftLogNoOpLogHandler() },
    ) throws(ProviderError) {
        client = try ProviderClient(
            credentials: credentials, environment: environment, configuration: configuration, logger: logger)
    }

    /// Waits for the graceful shutdown or until the task is cancelled, then shuts the manager down.
    public func run() async throws { try await client.run() }

    /// Refuses new requests, waits up to ten seconds for the answers to those under way, and closes the connections.
    public func shutDown() async { await client.shutDown() }

    /// Creates a channel for Live Activities.
    ///
    /// If the answer is lost, the channel may exist nevertheless (``ProviderError/mayHaveBeenTaken``). Then
    /// ``list(of:)`` returns it.
    /// - Returns: The channel's identifier, a Base64 text.
    /// - Throws: ``ProviderError``. ``PushRejection/Reason/cannotCreateChannelConfig`` means that the app already has
    ///   the largest number of channels.
    public func create(
        keeping policy: StoragePolicy,
        for bundleID: String,
    ) async throws(ProviderError) -> String {
        let body = #"{"message-storage-policy":\#(policy.rawValue),"push-type":"LiveActivity"}"#
        let answer = try await ask(.create, bundleID, body: body)
        guard let id = answer.channelID, !id.isEmpty else {
            throw ProviderError(
                .unexpectedAnswer, "The answer has no apns-channel-id.", mayHaveBeenTaken: true)
        }
        return id
    }

    /// Returns what a channel stores.
    /// - Throws: ``ProviderError``. ``PushRejection/Reason/channelNotRegistered`` means that there is no such channel.
    public func policy(of channel: String, of bundleID: String) async throws(ProviderError) -> StoragePolicy {
        let answer = try await ask(.read, bundleID, channel: channel)
        guard let number = JSONObject(answer.body)?[number: "message-storage-policy"],
            let policy = Int(exactly: number).flatMap(StoragePolicy.init)
        else { throw ProviderError(.unexpectedAnswer, "The answer has no message-storage-policy of 0 or 1.") }
        return policy
    }

    /// Deletes a channel. This ends all subscriptions to it.
    /// - Throws: ``ProviderError``. ``PushRejection/Reason/channelNotRegistered`` means that there is no such channel,
    ///   for example because an earlier attempt has deleted it.
    public func delete(_ channel: String, of bundleID: String) async throws(ProviderError) {
        _ = try await ask(.delete, bundleID, channel: channel)
    }

    /// Returns the identifiers of all channels of an app.
    /// - Throws: ``ProviderError``.
    public func list(of bundleID: String) async throws(ProviderError) -> [String] {
        let answer = try await ask(.list, bundleID)
        guard case .array(let values)? = JSONValue(answer.body)?.members["channels"] else {
            throw ProviderError(.unexpectedAnswer, "The answer has no list of channels.")
        }
        return values.compactMap(\.string)
    }

    private func ask(
        _ action: PushRequest.ChannelAction,
        _ bundleID: String,
        channel: String? = nil,
        body: String = "",
    ) async throws(ProviderError) -> PushAnswer {
        var request = PushRequest(deviceToken: "", topic: nil, payload: ByteBuffer(string: body))
        request.route = .channels(action, bundleID: bundleID)
        request.channelID = channel
        if let problem = request.problem { throw problem }
        let answer = try await client.answer(to: request, deadline: nil, retriesRejections: true).get()
        guard answer.isSuccess else { throw ProviderError(PushRejection(answer)) }
        return answer
    }
}

extension APNSEnvironment {
    /// Apple's development server for the management of broadcast channels; see ``ChannelManager``.
    public static let developmentChannels = APNSEnvironment(
        host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
    /// Apple's production server for the management of broadcast channels.
    public static let productionChannels = APNSEnvironment(host: "api-manage-broadcast.push.apple.com", port: 2196)
}
