import Delivery
import Foundation
import Notifications
import Synchronization

/// The IDs of the virtual devices of this process, in the data folder. They end with the process, and a store on disk does
/// not: the next start reads here what has to be ended there.
final class VirtualDeviceFile: Sendable {
    static let name = "virtual-devices"

    private let path: String
    private let handle = Mutex<FileHandle?>(nil)

    init(_ folder: DataFolder) { path = folder.path + "/" + Self.name }

    /// Adds a device, before the store has anything of it.
    func add(_ device: DeviceID) throws(StoreError) {
        let failure = handle.withLock { handle -> StoreError? in
            do {
                if handle == nil {
                    if !FileManager.default.fileExists(atPath: path) { try DataFolder.write("", to: path) }
                    let opened = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                    try opened.seekToEnd()
                    handle = opened
                }
                try handle?.write(contentsOf: Data((device.description + "\n").utf8))
                return nil
            } catch {
                return StoreError(.unavailable, "\(path) cannot be written: \(DataFolder.reason(error)).")
            }
        }
        if let failure { throw failure }
    }

    /// Ends what an earlier process has left in the store of its virtual devices, and empties the file.
    func endEarlier(in registrations: any Registrations, at moment: Timestamp) async throws(StoreError) {
        guard let text = FileManager.default.contents(atPath: path), !text.isEmpty else { return }
        let devices = String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { DeviceID(String($0)) }
        do {
            // Together: a store that writes to disk takes them in one go.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for device in devices {
                    group.addTask { try await Self.end(device, in: registrations, at: moment) }
                }
                try await group.waitForAll()
            }
            try DataFolder.write("", to: path)
        } catch {
            throw error as? StoreError ?? StoreError(.unavailable, DataFolder.reason(error))
        }
    }

    private static func end(
        _ device: DeviceID,
        in registrations: any Registrations,
        at moment: Timestamp,
    ) async throws(StoreError) {
        let key = DeviceKey(environment: .development, device: device)
        for app in try await registrations.registrations(of: key).filter(\.value.isActive).keys {
            let destination = Destination(environment: key.environment, device: device, app: app)
            _ = try await registrations.end(destination, at: moment)
        }
    }
}
