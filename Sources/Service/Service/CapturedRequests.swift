import Delivery
import Foundation
import Notifications
import PrivateFiles
import Storage
import Synchronization

/// Notifications that were not forwarded, and that a person may release to a real device. In files of the data folder, or in
/// memory if there is none.
final class CapturedRequests: CapturedPushes {
    static let folderName = "captured"
    /// The largest number of captured requests. With payloads of 4 KB they take 6 MB. The oldest are removed.
    static let maximumCount = 1_000

    private struct State {
        var pushes: [UInt64: HeldPush] = [:]
        /// In the order in which they were captured.
        var numbers: [UInt64] = []
    }

    /// The contents of a file.
    private struct File: Codable {
        let number: UInt64
        let bundleID: String
        let environment: String
        /// In base64.
        let token: String
        let payload: String
        let headers: HeldPush.Headers
    }

    private let folder: String?
    private let nextNumber: @Sendable () -> UInt64
    private let state = Mutex(State())

    /// Reads what an earlier start has captured. A file that cannot be read is left out.
    /// - Parameters:
    ///   - folder: nil to keep everything in memory.
    ///   - nextNumber: a number for a request that has none.
    init(_ folder: String?, nextNumber: @escaping @Sendable () -> UInt64) {
        self.folder = folder
        self.nextNumber = nextNumber
        guard let folder else { return }
        // Without the folder nothing was captured.
        let names = (try? Files.fileNames(inFolder: folder)) ?? []
        var files: [File] = []
        for name in names.filter({ $0.hasSuffix(".json") }).sorted().suffix(Self.maximumCount) {
            guard let data = FileManager.default.contents(atPath: folder + "/" + name),
                let file = try? JSONValue.decode(data, as: File.self)
            else { continue }
            files.append(file)
        }
        state.withLock { state in
            for file in files.sorted(by: { $0.number < $1.number }) {
                guard let bundleID = BundleID(rawValue: file.bundleID),
                    let environment = Environment(rawValue: file.environment),
                    let token = Data(base64Encoded: file.token), let payload = Data(base64Encoded: file.payload)
                else { continue }
                state.numbers.append(file.number)
                state.pushes[file.number] = HeldPush(
                    number: 0, place: UpstreamPlace(bundleID: bundleID, environment: environment),
                    expires: Timestamp(milliseconds: 0), taken: Timestamp(milliseconds: 0),
                    deviceToken: Array(token), payload: Array(payload), headers: file.headers)
            }
        }
    }

    /// The greatest number of a captured request; 0 if there is none.
    var lastNumber: UInt64 { state.withLock { $0.numbers.max() ?? 0 } }

    subscript(_ number: UInt64) -> HeldPush? { state.withLock { $0.pushes[number] } }

    func keep(_ push: ForwardedPush, of place: UpstreamPlace, number: UInt64?) async throws(StoreError) {
        let number = number ?? nextNumber()
        let kept = HeldPush(push, of: place, expires: Timestamp(milliseconds: 0))
        try write(kept, number)
        let removed = state.withLock { state in
            state.pushes[number] = kept
            state.numbers.append(number)
            guard state.numbers.count > Self.maximumCount else { return nil as UInt64? }
            let oldest = state.numbers.removeFirst()
            state.pushes[oldest] = nil
            return oldest
        }
        // A file that stays is removed from the list at the next start.
        if let folder, let removed { try? Files.remove(Self.file(removed, in: folder)) }
    }

    private func write(_ push: HeldPush, _ number: UInt64) throws(StoreError) {
        guard let folder else { return }
        let file = File(
            number: number, bundleID: push.place.bundleID.rawValue, environment: push.place.environment.rawValue,
            token: Data(push.deviceToken).base64EncodedString(),
            payload: Data(push.payload).base64EncodedString(), headers: push.headers)
        guard let text = try? JSONValue(encoding: file).text else {
            throw StoreError(.unavailable, "A captured request cannot be encoded.")
        }
        try Files.makeFolder(folder)
        _ = try Files.make(Self.file(number, in: folder), Array(text.utf8), replacing: true)
    }

    /// With leading zeros, so that the names have the order of the numbers.
    private static func file(_ number: UInt64, in folder: String) -> String {
        let digits = String(number)
        return folder + "/" + String(repeating: "0", count: max(0, 20 - digits.count)) + digits + ".json"
    }
}
