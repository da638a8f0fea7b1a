import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import PrivateFiles

/// The options of the commands that ask a running agent.
struct DeviceAgentOptions: ParsableArguments {
    /// The socket of an agent that a package installed.
    static let installedSocket = "/run/carillon-device/agent.sock"
    /// The longest time of a request with its answer. The system accepts connections for an agent that was stopped, and nothing
    /// answers them.
    private static let timeLimit = Duration.seconds(10)

    @Option(
        help: ArgumentHelp(
            "The agent's socket (or CARILLON_AGENT_SOCKET); \(installedSocket) if it is not named.", valueName: "path"))
    var socket: String?

    @Flag(help: "Print one JSON object per line on standard output, and nothing else.")
    var json = false

    var output: Output { Output(isJSON: json) }

    /// The path of the agent's socket.
    var path: String {
        let named = socket ?? ProcessInfo.processInfo.environment["CARILLON_AGENT_SOCKET"]
        return named.map { AbsolutePath.of($0) } ?? Self.installedSocket
    }

    var client: APIClient {
        let path = path
        var client = APIClient(.socket(path: path)) { failure in
            switch failure {
            case .notReached(let error):
                CommandError("No agent answers at \(path): \(RequestFailure.cause(of: error)).")
            case .interrupted: CommandError("The agent ended in the middle of its answer.")
            case .refused(let status, _):
                CommandError(
                    failure.problem.detail ?? "The agent refused: status \(status).", at: failure.problem.pointer)
            case .notUnderstood: CommandError("The agent's answer cannot be read.")
            }
        }
        client.timeLimit = Self.timeLimit
        return client
    }
}
