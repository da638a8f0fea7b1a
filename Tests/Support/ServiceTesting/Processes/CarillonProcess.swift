import CommonTesting
import Foundation
import Notifications
import Service

/// A running `carillon serve`, on ports that the system chose.
final class CarillonProcess: Sendable {
    /// The first line of the service's output.
    struct Ready: Decodable, Sendable {
        struct Addresses: Decodable, Sendable {
            let provider: String
            let binary: String
            let feedback: String
            let courier: String
        }

        let event: String
        let development: Addresses?
        let production: Addresses?
        let ca: String
    }

    let data: String
    let readyLine: String
    let ready: Ready
    let child: ChildProcess

    private init(data: String, readyLine: String, ready: Ready, child: ChildProcess) {
        self.data = data
        self.readyLine = readyLine
        self.ready = ready
        self.child = child
    }

    /// Runs a service while `body` runs, on the given data folder or a new one. Afterwards kills it if it still runs.
    static func with<Result>(
        data: String? = nil,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        _ body: (CarillonProcess) async throws -> Result,
    ) async throws -> Result {
        guard let data else {
            return try await withTemporaryFolder { folder in
                try await with(data: folder + "/data", arguments, environment: environment, body)
            }
        }
        let arguments = ["serve", "--json", "--ports", "ephemeral", "--data", data] + arguments
        return try await ChildProcess.with(BuiltCommand.path, arguments, environment: environment) { child in
            guard let line = await child.output.nextLine() else {
                child.signal(SIGKILL)
                let finished = await child.finished()
                throw UnexpectedOutput(description: "carillon serve ended, \(finished.status): \(finished.errors)")
            }
            let ready = try JSONDecoder().decode(Ready.self, from: Data(line.utf8))
            return try await body(CarillonProcess(data: data, readyLine: line, ready: ready, child: child))
        }
    }

    /// Sends the service a signal, and waits until it has ended.
    func stop(_ signal: Int32 = SIGTERM) async -> ChildProcess.Finished {
        child.signal(signal)
        return await child.finished()
    }

    /// Runs one of the command's other subcommands on this service.
    func carillon(_ arguments: String..., input: [UInt8] = []) async throws -> ChildProcess.Finished {
        try await carillon(arguments, input: input)
    }

    func carillon(_ arguments: [String], input: [UInt8] = []) async throws -> ChildProcess.Finished {
        try await BuiltCommand.run(arguments + ["--data", data, "--json"], input: input)
    }

    /// The arguments for a subcommand that keeps running.
    func arguments(_ arguments: String...) -> [String] { arguments + ["--data", data, "--json"] }

    func addresses(_ environment: Environment) throws -> Ready.Addresses {
        switch environment {
        case .development: try ready.development.orThrow("the service has no development environment")
        case .production: try ready.production.orThrow("the service has no production environment")
        }
    }

    /// The key, team and app of the first start.
    var developmentKey: ServiceDescription.DevelopmentKey {
        get throws {
            try ServiceDescription.read(DataFolder(data)).key.orThrow("the service has no development key")
        }
    }

    /// The provider of the development team.
    var developmentProvider: Provider {
        get throws {
            let key = try developmentKey
            return try Provider(teamID: key.teamID, keyID: key.keyID, keyFile: key.path)
        }
    }

    /// Makes a device with the command.
    /// - Returns: the path of its identity file, which is beside the data folder.
    func activate(_ environment: Environment = .development) async throws -> String {
        let path = "\(data)-device-\(UUID().uuidString.prefix(8)).pem"
        var arguments = ["device", "activate", "--data", data, "--json", "--out", path]
        if environment == .production {
            let invitation = try await carillon("device", "invite", "--environment", "production")
            let code = try invitation.object["code"]?.text.orThrow("no code")
            arguments += ["--environment", "production", "--code", code ?? ""]
        }
        let finished = try await BuiltCommand.run(arguments)
        guard finished.status == 0 else { throw UnexpectedOutput(description: finished.errors) }
        return path
    }

    /// Registers an app with the command.
    /// - Returns: the device token in hexadecimal digits.
    func register(_ bundleID: String, on identity: String) async throws -> String {
        let finished = try await carillon("device", "register", "--identity", identity, "--bundle-id", bundleID)
        return try finished.object["token"].flatMap(\.text).orThrow("no token: \(finished.errors)")
    }
}

extension Optional {
    func orThrow(_ description: String) throws -> Wrapped {
        guard let self else { throw UnexpectedOutput(description: description) }
        return self
    }
}
