import Delivery
import Foundation
import Notifications
import Storage
import Synchronization

/// A file in the data folder with the IDs of this process's virtual devices. The devices end with the process, but
/// what a store on disk keeps about them remains. The next start reads the file, and removes that.
final class VirtualDeviceFile: Sendable {
    static let name = "virtual-devices"

    private let path: String
    private let handle = Mutex<FileHandle?>(nil)

    init(_ folder: DataFolder) { path = folder.path + "/" + Self.name }

    /// Adds a device. Call this before the store keeps anything about the device.
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

    /// Ends the registrations of an earlier process's virtual devices, and empties the file.
    func endEarlier(in registrations: any Registrations, at moment: Timestamp) async throws(StoreError) {
        guard let text = FileManager.default.contents(atPath: path), !text.isEmpty else { return }
        let devices = String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { DeviceID(String($0)) }
        do {
            // Do this concurrently, so that a store can write it to disk in one transaction.
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
