import Delivery
import NIOCore
import Notifications

// Devices in questions and their answers.
extension PeerRecord {
    /// The largest number of apps of a device for which a record says how many notifications wait: the record has at most
    /// 35 KB then, and a device has far fewer apps. The record leaves out further ones.
    static let maximumHeldApps = 2048

    static func write(_ devices: [DeviceKey], to buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt32(clamping: devices.count))
        for device in devices { write(device, to: &buffer) }
    }

    static func write(_ device: ConnectedDevice, to buffer: inout ByteBuffer) {
        write(device.key, to: &buffer)
        buffer.writeInteger(device.since.milliseconds)
        buffer.writeInteger(code(of: device.power))
        let held = device.held.prefix(maximumHeldApps)
        buffer.writeInteger(UInt32(clamping: held.count))
        for (app, notifications) in held {
            buffer.writeInteger(app.rawValue)
            buffer.writeInteger(UInt32(clamping: notifications.count))
            buffer.writeInteger(UInt8(notifications.stored == nil ? 0 : 1))
            buffer.writeInteger(notifications.stored?.rawValue ?? 0)
        }
    }

    private static func write(_ device: DeviceKey, to buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt8(device.environment == .development ? 0 : 1))
        buffer.writeInteger(device.device.rawValue)
    }

    private static func code(of power: DevicePower) -> UInt8 {
        switch power {
        case .low: 0
        case .awake: 1
        case .charging: 2
        }
    }

    static func devices(_ body: inout ByteBuffer) throws(Malformed) -> [DeviceKey] {
        let count: UInt32 = try integer(&body)
        var devices: [DeviceKey] = []
        // Do not reserve the memory for the count: the record may have fewer.
        for _ in 0..<count { devices.append(try device(&body)) }
        return devices
    }

    static func connectedDevice(_ body: inout ByteBuffer) throws(Malformed) -> ConnectedDevice {
        let (key, since): (DeviceKey, UInt64) = (try device(&body), try integer(&body))
        let code: UInt8 = try integer(&body)
        guard let power = DevicePower.allCases.first(where: { Self.code(of: $0) == code }) else { throw Malformed() }
        var held: [AppID: HeldNotifications] = [:]
        let apps: UInt32 = try integer(&body)
        for _ in 0..<apps {
            let (app, count): (UInt32, UInt32) = (try integer(&body), try integer(&body))
            let (isStored, version): (Bool, UInt64) = (try flag(&body), try integer(&body))
            held[AppID(rawValue: app)] = HeldNotifications(
                count: Int(count), stored: isStored ? MailboxVersion(rawValue: version) : nil)  // fits: 32 bits
        }
        return ConnectedDevice(key: key, since: Timestamp(milliseconds: since), power: power, held: held)
    }

    private static func device(_ body: inout ByteBuffer) throws(Malformed) -> DeviceKey {
        DeviceKey(
            environment: try flag(&body) ? .production : .development,
            device: DeviceID(rawValue: try integer(&body)))
    }
}
