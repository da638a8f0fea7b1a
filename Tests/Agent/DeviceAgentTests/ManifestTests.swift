import CommonTesting
import Foundation
import Testing

@testable import DeviceAgent

/// Which manifests are used, and why others are not.
struct ManifestTests {
    private struct Names: AccountNames {
        func user(_ name: String) -> UInt32? { ["kiosk": 1001, "till": 1002][name] }
        func group(_ name: String) -> UInt32? { name == "apps" ? 2001 : nil }
    }

    private func manifest(_ text: String, agentUser: UInt32 = 0) throws -> Manifest {
        try Manifest(Array(text.utf8), names: Names(), agentUser: agentUser)
    }

    private func cause(_ text: String, agentUser: UInt32 = 0) -> String {
        do {
            _ = try manifest(text, agentUser: agentUser)
            return "none"
        } catch {
            return (error as? Manifest.Refusal)?.cause ?? "\(error)"
        }
    }

    @Test func `A manifest says who may be the app`() throws {
        let user = try manifest(#"{"bundleID":"com.example.kiosk","user":"kiosk"}"#)
        #expect(user.owner == .user(1001) && user.name == "com.example.kiosk")
        #expect(user.admits(LocalPeer(user: 1001, groups: [])))
        #expect(!user.admits(LocalPeer(user: 1002, groups: [1001])) && !user.admits(LocalPeer(user: 0, groups: [0])))
        let group = try manifest(#"{"bundleID":"com.example.kiosk","group":"apps"}"#)
        #expect(
            group.admits(LocalPeer(user: 7, groups: [7, 2001])) && !group.admits(LocalPeer(user: 2001, groups: [7])))
        let own = try manifest(#"{"bundleID":"com.example.kiosk"}"#, agentUser: 5)
        #expect(own.owner == .user(5))
    }

    @Test(arguments: [
        ("[]", "not a JSON object"), (#"{"bundleID":"a","bundleID":"b"}"#, "a key twice"),
        ("{}", "bundleID is missing"),
        (#"{"bundleID":"../x"}"#, "/bundleID"), (#"{"bundleID":"a","shell":"rm"}"#, "/shell"),
        (#"{"bundleID":"a","user":"nobody-here"}"#, "There is no user"),
        (#"{"bundleID":"a","group":"nobody-here"}"#, "There is no group"),
        (#"{"bundleID":"a","user":"kiosk","group":"apps"}"#, "one of them"),
        (#"{"bundleID":"a","exec":[]}"#, "/exec"), (#"{"bundleID":"a","exec":["true"]}"#, "absolute path"),
        (#"{"bundleID":"a","user":"kiosk","exec":["/bin/true"]}"#, "agent's user"),
        (#"{"bundleID":"a","unit":"--now"}"#, "/unit"), (#"{"bundleID":"a","unit":"a b.service"}"#, "/unit"),
        (#"{"bundleID":"a","dbus":"-x"}"#, "/dbus"), (#"{"bundleID":"a","dbus":"com.1"}"#, "/dbus"),
        (#"{"bundleID":"a","unit":"a.service","dbus":"com.example.A"}"#, "one of exec, unit and dbus"),
        (#"{"bundleID":"a","exec":["/bin/echo","\u0000"]}"#, "NUL"),
        (#"{"bundleID":"a","resources":"images"}"#, "/resources"), (#"{"bundleID":"a","desktop":"a/b"}"#, "/desktop"),
        (#"{"bundleID":"a","desktop":"a.desktop"}"#, "/desktop"),
    ])
    func `A manifest that cannot be is refused with the reason`(_ text: String, _ reason: String) {
        #expect(cause(text).contains(reason), "\(cause(text))")
    }

    // MARK: The folder

    private func read(_ folder: String) -> ManifestFolder.Contents {
        ManifestFolder(path: folder, agentUser: UInt32(geteuid())).read(names: Names())
    }

    private func withFolder(_ body: (String) throws -> Void) async throws {
        try await withTemporaryPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            chmod(path, 0o755)
            try body(path)
        }
    }

    @Test func `A file that others may write to is not used, and the others are`() async throws {
        try await withFolder { folder in
            try AgentRig.write(#"{"bundleID":"com.example.a"}"#, to: folder + "/a.json")
            try AgentRig.write(#"{"bundleID":"com.example.b"}"#, to: folder + "/b.json")
            chmod(folder + "/b.json", 0o666)
            try AgentRig.write(#"{"bundleID":"com.example.a"}"#, to: folder + "/c.json")
            try AgentRig.write(String(repeating: " ", count: AgentLimits.manifestBytes + 1), to: folder + "/d.json")
            symlink(folder + "/a.json", folder + "/e.json")
            mkfifo(folder + "/f.json", 0o644)
            try AgentRig.write("no manifest", to: folder + "/README")
            let contents = read(folder)
            #expect(contents.manifests.keys.sorted() == ["com.example.a"])
            let causes = Dictionary(
                uniqueKeysWithValues: contents.refused.map { (String($0.file.suffix(6)), $0.cause) })
            #expect(causes["b.json"]?.contains("chmod") == true)
            #expect(causes["c.json"]?.contains("Another manifest") == true)
            #expect(causes["d.json"]?.contains("bytes") == true)
            #expect(causes["e.json"]?.contains("symbolic link") == true)
            #expect(causes["f.json"]?.contains("not a file") == true)
            #expect(causes.count == 5)
        }
    }

    @Test func `A folder that others may write to is not used`() async throws {
        try await withFolder { folder in
            try AgentRig.write(#"{"bundleID":"com.example.a"}"#, to: folder + "/a.json")
            chmod(folder, 0o777)
            let contents = read(folder)
            #expect(contents.manifests.isEmpty && contents.refused.map(\.file) == [folder])
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file to another user"))
    func `A file of another user is not used`() async throws {
        try await withFolder { folder in
            try AgentRig.write(#"{"bundleID":"com.example.a"}"#, to: folder + "/a.json")
            chown(folder + "/a.json", 12345, 12345)
            #expect(read(folder).refused.first?.cause.contains("12345") == true)
        }
    }

    @Test func `There are so many manifests and no more`() async throws {
        try await withFolder { folder in
            for number in 0...AgentLimits.manifests {
                try AgentRig.write(#"{"bundleID":"com.example.\#(number)"}"#, to: folder + "/\(number).json")
            }
            let contents = read(folder)
            #expect(contents.manifests.count == AgentLimits.manifests && contents.refused.count == 1)
        }
    }

    @Test func `A missing folder has no manifests`() {
        #expect(read("/nonexistent/apps.d").manifests.isEmpty)
    }
}
