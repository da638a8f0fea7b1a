import Foundation
package import Notifications

/// The contents of a device token, which only the service can read.
package struct DeviceTokenContents: Sendable, Hashable {
    package let device: DeviceID
    package let app: AppID
    /// The token's generation, and the service that it is for (``TokenNumber``).
    package let number: UInt32
    /// The Live Activity that the token is for; nil for every other token.
    package let activity: Activity?

    /// A Live Activity, which gets its updates by a token of its own.
    package struct Activity: Sendable, Hashable {
        package let id: ActivityID
        /// The time from which the token is invalid, in milliseconds since 1970.
        package let ends: Timestamp

        package init(id: ActivityID, ends: Timestamp) {
            self.id = id
            self.ends = ends
        }
    }

    package init(device: DeviceID, app: AppID, generation: UInt32, service: TopicKind = .app) {
        self.init(device: device, app: app, number: TokenNumber.make(generation: generation, service: service))
    }

    package init(device: DeviceID, app: AppID, number: UInt32, activity: Activity? = nil) {
        self.device = device
        self.app = app
        self.number = number
        self.activity = activity
    }

    /// The number of the token among those that this app on this device has had. An old token never becomes valid
    /// again.
    package var generation: UInt32 { TokenNumber.generation(of: number) }

    /// The service of the app that the token is for; `app` for the app's own token.
    package var service: TopicKind { TokenNumber.service(of: number) ?? .app }

    /// Whether the token may be used for a topic.
    /// - Parameter isStrict: whether an app's own token is only for the app. Otherwise it is for all of its services.
    package func isFor(_ kind: TopicKind, isStrict: Bool) -> Bool {
        service == kind || service == .app && !isStrict
    }
}

extension DeviceTokenContents {
    /// Device, app, number, big-endian.
    static let byteCount = 16
    /// The same, the activity, the end of its token, and zeros, so that the token has 80 bytes, as APNs' tokens of Live
    /// Activities.
    static let activityByteCount = 64

    /// The bytes that are encrypted.
    var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        withUnsafeBytes(of: device.rawValue.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: app.rawValue.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
        guard let activity else { return bytes }
        withUnsafeBytes(of: activity.id.high.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: activity.id.low.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: activity.ends.milliseconds.bigEndian) { bytes += $0 }
        bytes += [UInt8](repeating: 0, count: Self.activityByteCount - bytes.count)
        return bytes
    }

    private static let activityEnd = byteCount + 24

    /// - Returns: Nil unless zeros follow what it reads.
    private static func activity(in plaintext: Data) -> Activity? {
        guard plaintext.count >= activityByteCount, plaintext.dropFirst(activityEnd).allSatisfy({ $0 == 0 }) else {
            return nil
        }
        return plaintext.withUnsafeBytes { bytes in
            func word(_ offset: Int) -> UInt64 {
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            return Activity(
                id: ActivityID(high: word(byteCount), low: word(byteCount + 8)),
                ends: Timestamp(milliseconds: word(byteCount + 16)))
        }
    }

    /// - Returns: Nil unless there are ``byteCount`` bytes followed only by zeros or a Live Activity, or if the service
    ///   is not known here.
    init?(plaintext: Data) {
        guard plaintext.count >= Self.byteCount else { return nil }
        let contents = plaintext.withUnsafeBytes { bytes in
            DeviceTokenContents(
                device: DeviceID(rawValue: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))),
                app: AppID(rawValue: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))),
                number: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self)),
            )
        }
        guard TokenNumber.service(of: contents.number) != nil else { return nil }
        if plaintext.count == Self.byteCount || plaintext.dropFirst(Self.byteCount).allSatisfy({ $0 == 0 }) {
            self = contents
        } else {
            guard let activity = Self.activity(in: plaintext), contents.service == .liveActivity else { return nil }
            self = DeviceTokenContents(
                device: contents.device, app: contents.app, number: contents.number, activity: activity)
        }
    }
}
