public import Foundation
public import NIOCore
public import NIOPosix
import Notifications

/// Reads the feedback service (Guide, 3.1.3): the device tokens whose app was removed since the last reading.
///
/// ```swift
/// let reader = FeedbackReader(environment: environment, credentials: credentials)
/// try await reader.forgetInactive(in: deviceTokens, topic: "com.example.app")
/// ```
public struct FeedbackReader: Sendable {
    private let environment: APNSEnvironment
    private let credentials: ProviderCredentials
    private let proxy: HTTPProxy?
    private let group: any EventLoopGroup

    /// The largest list, in bytes: more than a million entries.
    private static let maximumBytes = 64 << 20

    /// Creates a reader.
    /// - Parameters:
    ///   - environment: the host, and the feedback service's port (2196).
    ///   - credentials: the provider certificate of the app.
    ///   - proxy: the HTTP proxy through which the service is reached; nil for direct connections.
    ///   - group: the event loops to use; by default those that the process shares.
    public init(
        environment: APNSEnvironment,
        credentials: ProviderCredentials,
        proxy: HTTPProxy? = nil,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    ) {
        self.environment = environment
        self.credentials = credentials
        self.proxy = proxy
        self.group = group
    }

    /// Reads the whole list. The service then removes from its list what was read.
    /// - Parameter deadline: the time for the whole list, once there is a connection.
    /// - Throws: ``ProviderError``: ``ProviderError/Code/badCredentials`` if the credentials are not a certificate,
    ///   ``ProviderError/Code/cannotConnect``, ``ProviderError/Code/deadlineExceeded``,
    ///   ``ProviderError/Code/cancelled``, or ``ProviderError/Code/connectionLost`` if the list is incomplete.
    public func read(deadline: Duration = .seconds(300)) async throws(ProviderError) -> [FeedbackItem] {
        guard case .certificate = credentials.kind else {
            throw ProviderError(.badCredentials, "The feedback service needs a provider certificate.")
        }
        let connection = try await LegacyConnection.connect(
            to: environment, through: proxy, credentials, reading: Self.maximumBytes, group)
        let answer = await connection.read(within: TimeAmount(bounding: deadline))
        await connection.close()
        guard !Task.isCancelled else { throw ProviderError.taskCancelled }
        guard !answer.isLate else {
            throw ProviderError(.deadlineExceeded, "The feedback service did not send its whole list in time.")
        }
        var bytes = answer.bytes
        var items: [FeedbackItem] = []
        while bytes.readableBytes > 0 {
            guard let item = FeedbackItem(&bytes) else { break }
            items.append(item)
        }
        guard answer.isWhole, bytes.readableBytes == 0 else {
            throw ProviderError(
                .connectionLost, "The feedback service did not send its whole list: \(answer.cause).")
        }
        return items
    }

    /// Reads the list and removes its device tokens from the record, except those that their app has registered
    /// again since. This is the same as the client does after a 410.
    /// - Parameters:
    ///   - deviceTokens: your record.
    ///   - topic: the topic of the app that the certificate belongs to.
    ///   - deadline: the time for the whole list, once there is a connection.
    /// - Returns: The entries whose device tokens were removed.
    /// - Throws: The errors of ``read(deadline:)``, or the record's first error. In the second case all other
    ///   entries were processed as well, because the service has already removed them from its list. A device token
    ///   that stayed in the record is reported again after the next notification to it.
    @discardableResult
    public func forgetInactive(
        in deviceTokens: some DeviceTokens,
        topic: String,
        deadline: Duration = .seconds(300),
    ) async throws -> [FeedbackItem] {
        var forgotten: [FeedbackItem] = []
        var failure: (any Error)?
        for item in try await read(deadline: deadline) {
            // A token that is too long for a ``DeviceToken`` cannot be in the record.
            guard let token = DeviceToken(item.deviceToken) else { continue }
            do {
                if try await deviceTokens.forget(token, topic: topic, inactiveSince: item.date) {
                    forgotten.append(item)
                }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return forgotten
    }
}

/// A device token whose app was removed from the device.
public struct FeedbackItem: Sendable, Hashable {
    /// The device token as lower-case hexadecimal digits.
    public let deviceToken: String
    /// The time at which the service found out, in seconds since 1970. If the device token was registered again
    /// later, it is valid.
    public let timestamp: UInt32

    /// The timestamp as a date. The service cuts it off to whole seconds. If the app was registered again within
    /// that second, the device token is kept, which costs one more notification at most.
    public var date: Date { Date(timeIntervalSince1970: Double(timestamp)) }

    /// Reads one entry (Guide, Table A-5). Returns nil if the bytes end before the entry does.
    init?(_ bytes: inout ByteBuffer) {
        guard let (timestamp, length) = bytes.readMultipleIntegers(as: (UInt32, UInt16).self),
            let token = bytes.readBytes(length: Int(length))  // fits: 16 bits
        else { return nil }
        self.timestamp = timestamp
        deviceToken = Hexadecimal.string(token)
    }
}
