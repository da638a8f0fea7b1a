public import Foundation
public import NIOCore
public import NIOPosix
import Notifications

/// Reads the feedback service (Guide, 3.1.3): the device tokens whose app is gone since the last reading.
///
/// ```swift
/// let reader = FeedbackReader(environment: environment, credentials: credentials)
/// try await reader.forgetInactive(in: deviceTokens, topic: "com.example.app")
/// ```
public struct FeedbackReader: Sendable {
    private let environment: APNSEnvironment
    private let credentials: ProviderCredentials
    private let group: any EventLoopGroup

    /// In bytes: more than a million entries.
    private static let maximumBytes = 64 << 20

    /// - Parameters:
    ///   - environment: the host, and the feedback service's port (2196).
    ///   - credentials: the provider certificate of the app.
    ///   - group: where it reads; the process's own by default.
    public init(
        environment: APNSEnvironment,
        credentials: ProviderCredentials,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    ) {
        self.environment = environment
        self.credentials = credentials
        self.group = group
    }

    /// Reads the list. The service takes off it what was read, once it was read to its end.
    /// - Parameter deadline: how long the whole list may take, once there is a connection.
    /// - Throws: ``ProviderError``: ``ProviderError/Code/badCredentials`` unless these are a certificate,
    ///   ``ProviderError/Code/cannotConnect``, ``ProviderError/Code/deadlineExceeded``,
    ///   ``ProviderError/Code/cancelled``, or ``ProviderError/Code/connectionLost`` where the list has no end.
    public func read(deadline: Duration = .seconds(300)) async throws(ProviderError) -> [FeedbackItem] {
        guard case .certificate = credentials.kind else {
            throw ProviderError(.badCredentials, "The feedback service takes a provider certificate alone.")
        }
        let connection = try await LegacyConnection.connect(
            to: environment, credentials, reading: Self.maximumBytes, group)
        let answer = await connection.read(within: TimeAmount(bounding: deadline))
        await connection.close()
        guard !Task.isCancelled else { throw ProviderError(.cancelled, "The task was cancelled.") }
        guard !answer.isLate else {
            throw ProviderError(.deadlineExceeded, "The feedback service did not send its list to the end in time.")
        }
        var bytes = answer.bytes
        var items: [FeedbackItem] = []
        while bytes.readableBytes > 0 {
            guard let item = FeedbackItem(&bytes) else { break }
            items.append(item)
        }
        guard answer.isWhole, bytes.readableBytes == 0 else {
            throw ProviderError(
                .connectionLost, "The feedback service did not send its list to the end (\(answer.cause)).")
        }
        return items
    }

    /// Reads the list, and takes its device tokens out of the record, but for those that their app registered again
    /// since: what the answer 410 does for one of them, this does for all.
    /// - Parameters:
    ///   - deviceTokens: your record.
    ///   - topic: the app's, whose certificate the credentials are.
    ///   - deadline: how long the whole list may take, once there is a connection.
    /// - Returns: What was taken out.
    /// - Throws: What ``read(deadline:)`` throws, or the record's first error. By then the list is taken off the service,
    ///   so all the others were tried as well; what was left in the record comes back with the next notification to it.
    @discardableResult
    public func forgetInactive(
        in deviceTokens: some DeviceTokens,
        topic: String,
        deadline: Duration = .seconds(300),
    ) async throws -> [FeedbackItem] {
        var forgotten: [FeedbackItem] = []
        var failure: (any Error)?
        for item in try await read(deadline: deadline) {
            // One that is too long for a device token is in nobody's record.
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

/// A device token whose app is gone.
public struct FeedbackItem: Sendable, Hashable {
    /// Lower-case hexadecimal digits.
    public let deviceToken: String
    /// When the service found that out, in seconds since 1970. Where the device token was registered again after that, it
    /// is good.
    public let timestamp: UInt32

    /// The same as a date. The service cuts off what is less than a second; an app that was registered again within that
    /// second is kept, which costs one more notification and no user.
    public var date: Date { Date(timeIntervalSince1970: Double(timestamp)) }

    /// Reads one (Guide, Table A-5); nil where the bytes end before it does.
    init?(_ bytes: inout ByteBuffer) {
        guard let (timestamp, length) = bytes.readMultipleIntegers(as: (UInt32, UInt16).self),
            let token = bytes.readBytes(length: Int(length))
        else { return nil }
        self.timestamp = timestamp
        deviceToken = Hexadecimal.string(token)
    }
}
