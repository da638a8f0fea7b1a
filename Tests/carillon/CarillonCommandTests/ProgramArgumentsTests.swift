import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// Programs whose arguments Swift's library does not find, because a library of LD_PRELOAD came before it.
@Suite(.startsPrograms, .enabled(if: ChildProcess.isInstalled("cc"), "needs a C compiler"), .timeLimit(.minutes(2)))
struct ProgramArgumentsTests {
    /// In a program with Swift's library inside, such as a release, `setenv` is enough. In a program of a debug build the
    /// library's own function makes it forget the arguments.
    private static let source = """
        #include <stdlib.h>

        extern void _swift_stdlib_overrideUnsafeArgvArgc(char **, int);
        #pragma weak _swift_stdlib_overrideUnsafeArgvArgc
        static char *none[] = {0};

        __attribute__((constructor)) static void begin(void) {
            setenv("PRELOADED", "1", 1);
            if (_swift_stdlib_overrideUnsafeArgvArgc) _swift_stdlib_overrideUnsafeArgvArgc(none, 0);
        }
        """

    /// - Parameter body: gets a folder, and the variables of the programs.
    private func withPreload(_ body: (String, [String: String]) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let library = folder + "/preload.so"
            try Data(Self.source.utf8).write(to: URL(fileURLWithPath: folder + "/preload.c"))
            let made = try await ChildProcess.run("cc", ["-shared", "-fPIC", "-o", library, folder + "/preload.c"])
            try #require(made.status == 0, "\(made.errors)")
            try await body(folder, ["LD_PRELOAD": library])
        }
    }

    @Test(arguments: [
        (BuiltCommand.path, ["team", "list", "--nonsense"], "--nonsense"), (BuiltCommand.path, ["snd"], "snd"),
        (BuiltCommand.agentPath, ["doctor", "--state", "none"], "--socket"),
    ])
    func `The arguments count all the same`(_ program: String, _ arguments: [String], named: String) async throws {
        try await withPreload { _, environment in
            let finished = try await ChildProcess.run(program, arguments, environment: environment)
            #expect(finished.status != 0)
            #expect(finished.errors.contains(named), "\(finished.output)\(finished.errors)")
        }
    }

    @Test func `A server starts, and names itself to the person who reads`() async throws {
        try await withPreload { folder, environment in
            let arguments = ["serve", "--ports", "ephemeral", "--data", folder + "/data"]
            try await ChildProcess.with(BuiltCommand.path, arguments, environment: environment) { child in
                var line = await child.output.nextLine()
                while let text = line, !text.contains("console --data") { line = await child.output.nextLine() }
                #expect(line?.contains(BuiltCommand.path) == true, "\(child.errors.text)")
                child.signal(SIGTERM)
                #expect(await child.finished().status == 0)
            }
        }
    }

    private static let hidingProcesses = "mount -t tmpfs none /proc && "

    private static let canHideProcesses: ConditionTrait = .enabled("needs unshare and the right to mount") {
        (try? await ChildProcess.run("unshare", ["-rm", "sh", "-c", hidingProcesses + "true"]).status) == 0
    }

    @Test(ProgramArgumentsTests.canHideProcesses)
    func `If nobody knows the arguments, the command fails and does not print its help`() async throws {
        try await withPreload { _, environment in
            let script = Self.hidingProcesses + #"exec "$0" "$@""#
            let finished = try await ChildProcess.run(
                "unshare", ["-rm", "sh", "-c", script, BuiltCommand.path, "team", "list"], environment: environment)
            #expect(finished.status != 0)
            #expect(finished.output == "" && finished.errors.contains("/proc"), "\(finished.errors)")
        }
    }
}
