import ArgumentParser
import Foundation
import Service

/// What every subcommand takes.
struct CommonOptions: ParsableArguments {
    @Option(help: "The folder that holds everything the service keeps (or CARILLON_DATA).")
    var data: String?

    @Flag(help: "Print one JSON object per line on standard output, and nothing else.")
    var json = false

    var folder: DataFolder {
        DataFolder(data ?? ProcessInfo.processInfo.environment["CARILLON_DATA"] ?? Settings().dataFolder)
    }

    /// The administration of the service that runs on the folder.
    func administration() throws -> AdministrationClient { try AdministrationClient(folder) }

    /// The service that runs on the folder.
    func runningService() throws -> RunningService { try RunningService(folder) }
}
