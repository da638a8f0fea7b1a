import CommonTesting
import Foundation

@testable import ServiceTesting

/// A disk of one megabyte for a folder, which only programs started by ``starter`` see. A test fills it and makes room again.
struct SmallDisk: Sendable {
    private let holder: ChildProcess

    /// Whether this machine lets the tests mount one.
    static var isPossible: Bool {
        get async {
            guard ["unshare", "nsenter"].allSatisfy({ ChildProcess.isInstalled($0) }) else { return false }
            let mounted = try? await ChildProcess.run("unshare", ["-rm", "sh", "-c", "mount -t tmpfs none /mnt"])
            return mounted?.status == 0
        }
    }

    /// The program and arguments that start another one with this disk.
    var starter: [String] {
        ["nsenter", "--target", "\(holder.processID)", "--user", "--preserve-credentials", "--mount"]
    }

    static func with(_ folder: String, _ body: (SmallDisk) async throws -> Void) async throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let script = #"""
            mount -t tmpfs -o size=1m,mode=700 none "$0" && echo mounted || exit
            while read -r order; do
                if [ "$order" = fill ]; then cat /dev/zero >"$0/full" 2>/dev/null; else rm "$0/full"; fi
                echo "$order"
            done
            """#
        try await ChildProcess.with("unshare", ["-rm", "sh", "-c", script, folder], staysOpen: true) { holder in
            guard await holder.output.nextLine() == "mounted" else {
                throw AgentRig.Refused(status: 0, detail: "No disk: \(holder.errors.text)")
            }
            try await body(SmallDisk(holder: holder))
        }
    }

    /// Leaves no room on the disk.
    func fill() async throws { try await order("fill") }

    /// Makes room again.
    func free() async throws { try await order("free") }

    private func order(_ word: String) async throws {
        try holder.type(word + "\n")
        _ = try required(await holder.output.nextLine())
    }
}
