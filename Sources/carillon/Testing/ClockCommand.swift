import ArgumentParser
import HTTPAPIClient
import Management

struct ClockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock", abstract: "The service's clock.", subcommands: [Show.self, Advance.self],
        defaultSubcommand: Show.self)

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show the service's time.")

        @OptionGroup var common: CommonOptions

        func run() async throws {
            let reading: ManagementMessages.ClockReading = try await common.management().ask(.GET, "/v1/clock")
            common.output.print(reading, reading.now)
        }
    }

    struct Advance: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Advance the virtual clock; everything due has happened when the command ends.",
            discussion: "The service has to run with --clock virtual.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "How far, as an ISO 8601 duration: PT1H, PT0.5S, P2D.")
        var duration: String

        func run() async throws {
            let reading: ManagementMessages.ClockReading = try await common.management().ask(
                .POST, "/v1/clock", ManagementMessages.ClockAdvance(advance: duration))
            common.output.print(reading, "The service's time is \(reading.now).")
        }
    }
}
