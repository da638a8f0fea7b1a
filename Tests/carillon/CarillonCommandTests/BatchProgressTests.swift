import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting
@testable import APNSProvider
@testable import carillon

/// The progress bar of `carillon send --batch`: its text as a value, and where it is drawn.
@Suite(.service(environment: ["CARILLON_LIMIT_TOKEN_RATE": "0"]), .timeLimit(.minutes(2))) struct BatchProgressTests {
    private func bar(
        taken: Int = 100,
        accepted: Int,
        failed: Int = 0,
        read: Int = 1000,
        of total: Int? = 1000,
        after time: Duration = .seconds(2),
    ) -> String {
        let progress = SendProgress(taken: taken, accepted: accepted, failed: failed)
        return "\(BatchProgressLine(progress, read: read, total: total, after: time))"
    }

    private func drawn(_ filled: Int) -> String {
        String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
    }

    @Test func `It grows with what is read and ended`() {
        #expect(bar(accepted: 0) == "\(drawn(0)) 0 %  0 sent, 0 failed, 0/s")
        #expect(bar(accepted: 47, failed: 3) == "\(drawn(15)) 50 %  50 sent, 3 failed, 25/s")
        #expect(bar(accepted: 50, read: 500) == "\(drawn(7)) 25 %  50 sent, 0 failed, 25/s")
        #expect(bar(accepted: 100) == "\(drawn(30)) 100 %  100 sent, 0 failed, 50/s")
    }

    @Test func `Without a size there are the counts alone`() {
        #expect(bar(accepted: 50, of: nil) == "50 sent, 0 failed, 25/s")
        #expect(bar(accepted: 0, of: 0) == "0 sent, 0 failed, 0/s")
        #expect(bar(taken: 0, accepted: 0) == "0 sent, 0 failed, 0/s")
    }

    @Test func `No time is no infinity`() {
        #expect(bar(accepted: 1, of: nil, after: .zero) == "1 sent, 0 failed, 1000/s")
    }

    /// More bytes were read than the file had when it was opened, because somebody is writing to it.
    @Test func `It is never fuller than full`() {
        #expect(bar(accepted: 100, read: 5000).hasPrefix(drawn(30) + " 100 %"))
    }

    // MARK: On a terminal

    private func batch(_ folder: String, _ lines: [String]) throws -> String {
        try lines.joined(separator: "\n").write(toFile: folder + "/batch", atomically: true, encoding: .utf8)
        return folder + "/batch"
    }

    private func arguments(_ path: String) throws -> [String] {
        [
            "send", "--batch", path, "--topic", "com.example.app", "--alert", "Hello", "--json", "--data",
            try CarillonProcess.current.data,
        ]
    }

    @Test func `On a terminal it is drawn on standard error alone`() async throws {
        let service = try CarillonProcess.current
        let token = try await service.register("com.example.app", on: try await service.activate())
        try await withTemporaryFolder { folder in
            let path = try batch(folder, [#"{"token":"\#(token)"}"#, #"{"token":"\#(token)"}"#, "nonsense"])
            let sent = try await PseudoTerminal.run(try arguments(path))
            #expect(sent.status == 1)
            #expect(try sent.objects.count == 3)
            #expect(sent.errors.contains("\r\u{1b}[K"))
            #expect(sent.errors.contains("\(drawn(30)) 100 %  2 sent, 0 failed, "))
            #expect(sent.errors.contains("Line 3 is not a notification"))
        }
    }

    @Test func `Elsewhere there is none`() async throws {
        let service = try CarillonProcess.current
        let token = try await service.register("com.example.app", on: try await service.activate())
        try await withTemporaryFolder { folder in
            let sent = try await BuiltCommand.run(try arguments(batch(folder, [#"{"token":"\#(token)"}"#])))
            #expect(sent.status == 0)
            #expect(sent.errors.isEmpty)
        }
    }
}
