import CommonTesting
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// `carillon device listen` for a person: on a terminal, with keys.
@Suite(.service(), .timeLimit(.minutes(2))) struct ListenTerminalTests {
    private let bundleID = "com.example.app"
    private let categories = """
        [{"id":"message","actions":[{"id":"reply","title":"Reply","opensApp":true},\
        {"id":"later","title":"Not now","opensApp":false}]}]
        """

    /// A device that listens on a terminal.
    private struct Listening {
        let service: CarillonProcess
        let terminal: TerminalProcess
        let token: String

        /// Sends a notification, and waits until its banner is drawn completely.
        func show(_ alert: String, id: String) async throws {
            let topic = try service.developmentKey.bundleID ?? ""
            var push = try WirePush(token: token, topic: topic, from: service.developmentProvider)
            push.headers += [("apns-id", id)]
            push.payload(#"{"aps":{"alert":"\#(alert)","category":"message"}}"#)
            #expect(try await service.send(push).status == 200)
            #expect(await terminal.line(with: alert) != nil)
            #expect(await terminal.line(with: "[1] Reply [2] Not now [o] open [d] dismiss") != nil)
            #expect(await terminal.line(with: "╰") != nil)
        }
    }

    private func listen(_ body: (Listening) async throws -> Void) async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let token = try await service.register(bundleID, on: identity)
        try await withTemporaryFolder { folder in
            let file = folder + "/categories.json"
            try categories.write(toFile: file, atomically: true, encoding: .utf8)
            let arguments = [
                "device", "listen", "--data", service.data, "--identity", identity, "--bundle-id", bundleID,
                "--categories", file,
            ]
            try await TerminalProcess.with(BuiltCommand.path, arguments, columns: 64) { terminal in
                #expect(await terminal.line(with: "Keys: [o]pen and [d]ismiss") != nil)
                try await body(Listening(service: service, terminal: terminal, token: token))
            }
        }
    }

    private let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"

    @Test(arguments: [
        (Character("1"), "action reply of"), ("2", "action later of"), ("o", "opened"), ("\n", "opened"),
        ("d", "dismissed"),
    ])
    func `A key does what it says`(_ key: Character, _ said: String) async throws {
        try await listen { listening in
            try await listening.show("Hello", id: id)
            listening.terminal.press(key)
            #expect(await listening.terminal.line(with: "\(bundleID): \(said) \(id)") != nil)
        }
    }

    @Test func `The centre shows what is left on show`() async throws {
        try await listen { listening in
            try await listening.show("First", id: id)
            try await listening.show("Second", id: "8b1e5b4a-9c0c-4d5e-8f00-0123456789ac")
            listening.terminal.press("d")
            #expect(await listening.terminal.line(with: "dismissed 8b1e5b4a-9c0c-4d5e-8f00-0123456789ac") != nil)
            listening.terminal.press("c")
            #expect(await listening.terminal.line(with: "First") != nil)
            listening.terminal.press("d")
            #expect(await listening.terminal.line(with: "dismissed \(id)") != nil)
            listening.terminal.press("c")
            #expect(await listening.terminal.line(with: "No notifications.") != nil)
        }
    }

    @Test func `A key that means nothing does nothing`() async throws {
        try await listen { listening in
            try await listening.show("Hello", id: id)
            for key in "x39 " { listening.terminal.press(key) }
            listening.terminal.press("o")
            // Other keys print nothing, and typed characters are not shown.
            #expect(await listening.terminal.screen.nextLine() == "\(bundleID): opened \(id)\r")
        }
    }

    @Test func `The last key ends it and the terminal is as it was`() async throws {
        try await listen { listening in
            #expect(!listening.terminal.isAsUsual)
            listening.terminal.press("q")
            #expect(await listening.terminal.finished() == 0)
            #expect(listening.terminal.isAsUsual)
        }
    }

    /// The outcome of each key after the ones before it.
    @Test func `Keys change what becomes of notifications`() async throws {
        try await listen { listening in
            let (service, terminal, token) = (listening.service, listening.terminal, listening.token)
            for (key, said) in [
                (Character("f"), "in the foreground"), ("b", "in the background"), ("k", "ended by the user"),
                ("A", "alerts off, sounds on, badges on"), ("A", "alerts banner, sounds on, badges on"),
                ("n", "on the device, and never opened"), ("r", "removed"),
            ] {
                terminal.press(key)
                #expect(await terminal.line(with: "\(bundleID): \(said)") != nil)
            }
            let gone = try await service.send(alert: "Gone", to: token)
            #expect(gone.status == 410)
            terminal.press("f")
            // The app is installed again, and registers.
            #expect(await terminal.line(with: "Registered \(bundleID)") != nil)
            #expect(await terminal.line(with: "\(bundleID): in the foreground") != nil)
            let back = try await service.send(alert: "Back", to: token)
            #expect(back.status == 200)
            #expect(await terminal.line(with: "\(bundleID): in the foreground  {") != nil)
        }
    }

    @Test func `Looking closely shows all of it`() async throws {
        try await listen { listening in
            let text = (1...30).map { "word\($0)" }.joined(separator: " ")
            let answer = try await listening.service.send(alert: text, to: listening.token)
            #expect(answer.status == 200)
            #expect(await listening.terminal.line(with: "╰") != nil)
            listening.terminal.press("e")
            #expect(await listening.terminal.line(with: text) != nil)
        }
    }

    @Test func `A vo IP push is told and not shown`() async throws {
        try await listen { listening in
            let topic = bundleID + ".voip"
            let answer = try await listening.service.send(alert: "Call", to: listening.token, topic: topic)
            #expect(answer.status == 200)
            #expect(await listening.terminal.line(with: "\(bundleID): voip  {") != nil)
        }
    }
}
