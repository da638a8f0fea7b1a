import ArgumentParser
import CommandSupport
import HTTPAPIClient
import Management
import Notifications

struct ClockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock", abstract: "The service's clock.", subcommands: [Show.self, Advance.self],
        defaultSubcommand: Show.self)

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show the service's time, or a team's.")

        @OptionGroup var common: CommonOptions

        @Option(help: "The team whose clock it is.")
        var team: String?

        func run() async throws {
            let reading: ManagementMessages.ClockReading = try await common.management().ask(
                .GET, "/v1/clock" + (team.map { "?team=" + $0.percentEncoded } ?? ""))
            common.output.print(reading, reading.now)
        }
    }

    struct Advance: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Advance the virtual clock; everything due has happened when the command ends.",
            discussion: "The service has to run with --clock virtual.")

        @OptionGroup var common: CommonOptions

        @Option(help: "The team whose own clock is advanced; without it, the service's clock.")
        var team: String?

        @Argument(help: "How far, as an ISO 8601 duration: PT1H, PT0.5S, P2D.")
        var duration: String

        func run() async throws {
            let reading: ManagementMessages.ClockReading = try await common.management().ask(
                .POST, "/v1/clock", ManagementMessages.ClockAdvance(advance: duration, team: team))
            let owner = team.map { "team \($0)" } ?? "service"
            common.output.print(reading, "The \(owner)'s time is \(reading.now).")
        }
    }
}
