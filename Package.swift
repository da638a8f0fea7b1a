// swift-tools-version: 6.2
import PackageDescription

// CI sets CARILLON_WARNINGS_AS_ERRORS=1: our own targets must be free of warnings there, while a newer
// compiler's new warning does not stop somebody's build.
let strict = Context.environment["CARILLON_WARNINGS_AS_ERRORS"] == "1"

let settings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (strict ? [.treatAllWarnings(as: .error)] : [])

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let inMemoryLogging: Target.Dependency = .product(name: "InMemoryLogging", package: "swift-log")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")

// What the libraries do not need: a backend that depends on APNSProvider alone, with `traits: []`, does not fetch these.
let service: TargetDependencyCondition? = .when(traits: ["Service"])
let argumentParser: Target.Dependency = .product(
    name: "ArgumentParser", package: "swift-argument-parser", condition: service)
let httpClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client", condition: service)
let configuration: Target.Dependency = .product(
    name: "Configuration", package: "swift-configuration", condition: service)
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift", condition: service)
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates", condition: service)
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types", condition: service)
let histogram: Target.Dependency = .product(name: "Histogram", package: "hdrhistogram-swift", condition: service)
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird", condition: service)
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird", condition: service)
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: service)
let nioHTTPTypesHTTP1: Target.Dependency = .product(
    name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras", condition: service)
// The store of a cluster, which needs libpq.
let postgres: TargetDependencyCondition? = .when(traits: ["PostgreSQL"])
let postgresClient: Target.Dependency = .target(name: "PostgresClient", condition: postgres)
let postgresSupport: Target.Dependency = .target(name: "PostgresSupport", condition: postgres)
let postgresStore: [Target.Dependency] = [
    postgresClient, postgresSupport, .target(name: "PostgresStore", condition: postgres),
]
let postgresCampaignStore: [Target.Dependency] = [
    postgresSupport, .target(name: "PostgresCampaignStore", condition: postgres),
]
let postgresTesting: [Target.Dependency] = [
    postgresClient, .target(name: "PostgresTesting", condition: postgres),
]
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess", condition: service)
let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system", condition: service)

/// A target by its folder, which ends in its name.
func module(_ path: String, _ dependencies: [Target.Dependency] = [], resources: [Resource]? = nil) -> Target {
    .target(
        name: name(path), dependencies: dependencies, path: path, resources: resources, swiftSettings: settings)
}

func tests(_ path: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name(path), dependencies: dependencies, path: path, exclude: exclude, swiftSettings: settings)
}

func name(_ path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
}

let package = Package(
    name: "carillon",
    // Built and tested on Linux alone. Nobody has tried to build anything here for macOS or iOS. For iOS the traits would have to
    // be off, because the service starts programs, which iOS does not allow.
    platforms: [.macOS(.v26), .iOS(.v26)],
    products: [
        .executable(name: "carillon", targets: ["carillon"]),
        .executable(name: "carillon-agent", targets: ["CarillonAgent"]),
        .library(name: "APNSDevice", targets: ["APNSDevice"]),
        .library(name: "APNSProvider", targets: ["APNSProvider"]),
        .library(name: "CarillonTesting", targets: ["CarillonTesting"]),
    ],
    traits: [
        .trait(
            name: "Service", description: "The service, the command and CarillonTesting: all but the two libraries."),
        .trait(name: "PostgreSQL", description: "The store of a cluster. It needs libpq."),
        .default(enabledTraits: ["Service", "PostgreSQL"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        // MARK: Sources/Libraries: Public: what other packages depend on.
        module(
            "Sources/Libraries/APNSProvider",
            [
                "Notifications", "Credentials", "Connections", "HTTP2", nioCore, nioPosix, nioTLS, nioSSL, crypto,
                deque,
                logging, metrics, coreMetrics, tracing, lifecycle,
            ]),
        module(
            "Sources/Libraries/APNSDevice",
            [
                "Notifications", "Credentials", "Connections", "HTTP2", nioCore, nioPosix, nioTLS, nioSSL, crypto,
                deque,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        module(
            "Sources/Libraries/CarillonTesting",
            [
                "Notifications", "HTTPAPIClient", "Matching", "APNSProvider", "Management", "Service", nioCore, logging,
            ]),
        // MARK: Sources/Shared: What several parties need.
        module("Sources/Shared/Notifications"),
        module("Sources/Shared/Rates"),
        module("Sources/Shared/Credentials", ["Notifications", crypto, asn1]),
        module("Sources/Shared/Trust", ["Notifications", "Credentials", crypto, cryptoExtras, x509, asn1]),
        module("Sources/Shared/WebPushEncryption", ["Notifications", crypto]),
        module("Sources/Shared/Connections", ["Rates", nioCore, nioPosix, nioTLS, nioSSL, logging]),
        module("Sources/Shared/HTTP2Core", ["Rates"]),
        module("Sources/Shared/HTTP2", ["Rates", "Connections", "HTTP2Core", nioCore, nioSSL]),
        module("Sources/Shared/Storage", ["Notifications"]),
        module("Sources/Shared/PrivateFiles", ["Storage"]),
        module("Sources/Shared/PrometheusMetrics", [coreMetrics]),
        module(
            "Sources/Shared/Supervision",
            ["Notifications", "PrivateFiles", "CPages", logging, lifecycle, unixSignals]),
        module(
            "Sources/Shared/CommandSupport",
            ["Notifications", "Connections", "Supervision", "CVersion", argumentParser, logging]),
        module(
            "Sources/Shared/HTTPAPIClient",
            [
                "Notifications", "Connections", nioCore, nioPosix, nioSSL, httpClient,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        module(
            "Sources/Shared/Console", ["Notifications", "Connections", "HTTPAPI", crypto, httpTypes, hummingbird],
            resources: [.embedInCode("Files")]),
        module(
            "Sources/Shared/HTTPAPI",
            [
                "Notifications", "Storage", nioCore, nioHTTPTypes, nioHTTPTypesHTTP1, logging, httpTypes, hummingbird,
                hummingbirdCore, .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        module(
            "Sources/Shared/HTTPAPIOverHTTP2",
            [
                "Connections", "HTTP2", "HTTPAPI", nioCore, nioTLS, nioSSL, logging, httpTypes, hummingbird,
                hummingbirdCore,
            ]),
        // MARK: Sources/Databases: What the stores of both servers and of the agent share.
        module("Sources/Databases/SQLSupport", ["Notifications", "Storage"]),
        module("Sources/Databases/SQLiteSupport", ["Storage", "PrivateFiles", "SQLSupport", grdb]),
        module("Sources/Databases/PostgresClient", ["Connections", "CPostgres"]),
        module(
            "Sources/Databases/PostgresSupport", ["Notifications", "Storage", "SQLSupport", "PostgresClient", crypto]),
        // MARK: Sources/Agent: The service on a device, for all apps on it.
        module(
            "Sources/Agent/DeviceAgent",
            [
                "Notifications", "Rates", "Storage", "Connections", "HTTPAPI", "PrivateFiles", "SQLiteSupport",
                "APNSDevice", "CLandlock", "CClock", "CMalloc", "CPages", nioCore, nioPosix, logging, httpTypes,
                hummingbird, crypto, grdb, subprocess, systemPackage,
            ]),
        module(
            "Sources/Agent/AgentCommands",
            [
                "Notifications", "Supervision", "CommandSupport", "HTTPAPIClient", "PrivateFiles", "APNSDevice",
                "DeviceAgent", argumentParser, logging, lifecycle,
            ]),
        // MARK: Sources/Service: The service: from a provider to a device.
        module("Sources/Service/Delivery", ["Notifications", "Storage", "Rates", deque]),
        module(
            "Sources/Service/ProviderAPI",
            [
                "Rates", "Notifications", "Storage", "Credentials", "Trust", "Delivery", "Matching", "Connections",
                "HTTP2", nioCore,
                crypto, deque,
            ]),
        module(
            "Sources/Service/BinaryAPI",
            [
                "Rates", "Notifications", "Credentials", "Trust", "Delivery", "Matching", "Connections", nioCore,
                nioSSL, deque,
            ]),
        module(
            "Sources/Service/Courier",
            [
                "Rates", "Notifications", "Storage", "Credentials", "Trust", "Delivery", "Connections", "HTTP2",
                nioCore, deque,
            ]),
        module(
            "Sources/Service/Peers",
            [
                "Notifications", "Credentials", "Trust", "Delivery", "Connections", "HTTP2", nioCore, nioPosix, nioSSL,
                logging,
            ]),
        module(
            "Sources/Service/Upstream",
            [
                "Notifications", "Storage", "Credentials", "Trust", "Delivery", "APNSProvider", nioCore, logging,
                coreMetrics,
            ]),
        module(
            "Sources/Service/WebPush",
            [
                "Rates", "Notifications", "Storage", "Credentials", "Trust", "Delivery", "Matching", "Connections",
                "HTTP2", "HTTPAPI",
                "HTTPAPIOverHTTP2", nioCore, nioPosix, crypto, deque, logging, httpTypes, hummingbird,
            ]),
        module("Sources/Service/DeliveryLogFiles", ["Rates", "Notifications", "Delivery"]),
        module(
            "Sources/Service/Management",
            [
                "Rates", "Notifications", "Storage", "Credentials", "Trust", "Delivery", "DeliveryLogFiles", "Matching",
                "Journal",
                "VirtualDevices", "Rehearsals", "Reports", "Connections", "Console", "HTTPAPI", "Upstream",
                "WebPushEncryption", nioCore, nioPosix, nioSSL, crypto,
                logging, httpTypes, hummingbird,
            ], resources: [.embedInCode("Console/Files")]),
        module(
            "Sources/Service/Service",
            [
                "Rates", "Notifications", "Storage", "Credentials", "Trust", "Delivery", "DeliveryLogFiles", "Matching",
                "Journal",
                "VirtualDevices", "Rehearsals", "Stage", "Connections", "HTTP2", "ProviderAPI", "BinaryAPI", "Courier",
                "WebPush", "HTTPAPI", "Peers", "Upstream", "Management", "CMalloc", "CPages", "PrivateFiles",
                "Supervision",
                "SQLiteStore",
                "PrometheusMetrics",
                coreMetrics, nioCore, nioPosix, nioSSL, crypto, logging, lifecycle, configuration,
            ] + postgresStore),
        // MARK: Sources/TestKit: What the service offers to tests: matching, the journal, rehearsals, the stage, reports, virtual devices.
        module("Sources/TestKit/Matching", ["Notifications"]),
        module("Sources/TestKit/Journal", ["Notifications", "Delivery", "Matching", deque]),
        module("Sources/TestKit/Rehearsals", ["Notifications", "HTTP2Core", "Matching"]),
        module("Sources/TestKit/Stage", ["Notifications", "Matching", "Connections", "HTTP2", nioCore]),
        module("Sources/TestKit/Reports", ["Notifications", "Matching"]),
        module(
            "Sources/TestKit/VirtualDevices",
            ["Notifications", "Storage", "Trust", "Delivery", "WebPushEncryption", heap]),
        // MARK: Sources/Stores: Where the service keeps what it knows.
        module(
            "Sources/Stores/SQLiteStore",
            [
                "Notifications", "Storage", "Delivery", "PrivateFiles", "AccountTables", "SQLSupport", "SQLiteSupport",
                grdb,
            ]),
        module(
            "Sources/Stores/PostgresStore",
            [
                "Notifications", "Storage", "Delivery", "AccountTables", "SQLSupport", "PostgresClient",
                "PostgresSupport",
            ]),
        module("Sources/Stores/AccountTables", ["Notifications", "Storage", "Delivery", "SQLSupport"]),
        // MARK: Sources/ProviderServer: The server beside an app that sends to many.
        module(
            "Sources/ProviderServer/ProviderServer",
            [
                "Rates", "Notifications", "Storage", "Credentials", "Connections", "Console", "HTTPAPI",
                "HTTPAPIOverHTTP2", "PrivateFiles", "CampaignStore",
                "APNSProvider", nioCore, nioPosix, nioSSL, crypto, cryptoExtras, logging, lifecycle, coreMetrics,
                httpTypes, httpClient, hummingbird, hummingbirdCore,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ] + [postgresClient] + postgresCampaignStore, resources: [.embedInCode("Console/Files")]),
        module(
            "Sources/ProviderServer/CampaignStore",
            ["Notifications", "Storage", "PrivateFiles", "SQLSupport", "SQLiteSupport", grdb]),
        module(
            "Sources/ProviderServer/PostgresCampaignStore",
            ["Notifications", "Storage", "SQLSupport", "PostgresClient", "PostgresSupport", "CampaignStore"]),
        // MARK: Sources/System: Libraries of the system, and C.
        .systemLibrary(
            name: "CPostgres", path: "Sources/System/CPostgres",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]
        ),
        .systemLibrary(name: "CMalloc", path: "Sources/System/CMalloc"),
        .systemLibrary(name: "CLandlock", path: "Sources/System/CLandlock"),
        .systemLibrary(name: "CClock", path: "Sources/System/CClock"),
        .target(
            name: "CVersion", path: "Sources/System/CVersion",
            cSettings: Context.environment["CARILLON_COMMIT"].map { [.define("CARILLON_COMMIT", to: "\"\($0)\"")] }
        ),
        .target(name: "CPages", path: "Sources/System/CPages"),
        // MARK: Sources/carillon: the command.
        .executableTarget(
            name: "carillon",
            dependencies: [
                "Notifications", "Credentials", "Trust", "Delivery", "DeliveryLogFiles", "Matching", "Journal",
                "Rehearsals", "VirtualDevices",
                "Connections", "HTTPAPIClient", "HTTPAPI", "Management", "PrivateFiles", "Supervision",
                "CommandSupport",
                "Service", "ProviderServer", "PrometheusMetrics", coreMetrics,
                "APNSProvider", "WebPushEncryption",
                "APNSDevice", "DeviceAgent", "AgentCommands", nioCore, nioPosix, nioSSL, crypto, logging, lifecycle,
                .product(name: "NIOHTTP1", package: "swift-nio"),
                unixSignals,
                systemPackage,
                argumentParser,
                configuration,
                histogram,
            ],
            path: "Sources/carillon",
            swiftSettings: settings,
            // script/package links the archive's program with the libraries of this folder.
            linkerSettings: Context.environment["CARILLON_ARCHIVES"].map { [.unsafeFlags(["-L\($0)"])] }
        ),
        // MARK: Sources/CarillonAgent: the device agent alone.
        .executableTarget(
            name: "CarillonAgent",
            dependencies: ["CommandSupport", "AgentCommands", argumentParser, nioCore, nioPosix],
            path: "Sources/CarillonAgent",
            swiftSettings: settings
        ),
        // MARK: Tests/Libraries
        tests(
            "Tests/Libraries/APNSProviderTests",
            [
                "CommonTesting",
                "Notifications", "Connections", "HTTP2", "APNSProvider", "ProviderTesting", nioCore, nioSSL,
                crypto, logging, lifecycle, inMemoryLogging,
                unixSignals,
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"), coreMetrics, tracing,
                "Rates", "Delivery", "ProviderAPI", "Management", "Service", "ServiceTesting", "APNSDevice",
            ]),
        tests(
            "Tests/Libraries/APNSDeviceTests",
            [
                "Notifications", "Credentials", "Trust", "Delivery", "HTTP2", "Service", "ServiceTesting", "APNSDevice",
                "CommonTesting", nioCore, nioPosix, nioSSL, crypto,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        tests(
            "Tests/Libraries/CarillonTestingTests",
            [
                "Matching", "APNSProvider", "Management", "CarillonTesting", nioCore, nioPosix, nioSSL, httpClient,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        // MARK: Tests/Shared
        tests("Tests/Shared/NotificationsTests", ["Notifications", "CommonTesting"]),
        tests("Tests/Shared/RatesTests", ["Rates"]),
        tests("Tests/Shared/CredentialsTests", ["Notifications", "Credentials", "CommonTesting", crypto]),
        tests(
            "Tests/Shared/TrustTests",
            [
                "Notifications", "Credentials", "Trust", "CommonTesting", crypto, x509, asn1, nioCore, nioPosix, nioTLS,
                nioSSL,
            ]),
        tests(
            "Tests/Shared/WebPushEncryptionTests", ["CommonTesting", "Notifications", "WebPushEncryption", crypto]),
        tests(
            "Tests/Shared/ConnectionsTests",
            ["Rates", "Connections", nioCore, nioPosix, nioEmbedded, nioSSL, logging, inMemoryLogging]),
        tests("Tests/Shared/HTTP2CoreTests", ["Rates", "HTTP2Core", "CNghttp2"]),
        tests(
            "Tests/Shared/HTTP2Tests",
            ["CommonTesting", "Rates", "Connections", "HTTP2", "HTTP2Core", nioCore, nioPosix, nioEmbedded, nioSSL],
            exclude: ["Programs"]),
        tests("Tests/Shared/PrivateFilesTests", ["Storage", "PrivateFiles", "CommonTesting"]),
        tests("Tests/Shared/PrometheusMetricsTests", ["PrometheusMetrics", coreMetrics]),
        tests("Tests/Shared/ConsoleTests", ["CommonTesting", "Notifications", "Console", httpTypes]),
        tests(
            "Tests/Shared/HTTPAPITests",
            [
                "Notifications", "HTTPAPI", nioCore, nioEmbedded, httpTypes, nioHTTPTypes, nioHTTPTypesHTTP1,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        tests(
            "Tests/Shared/HTTPAPIOverHTTP2Tests",
            [
                "Notifications", "Trust", "Connections", "HTTP2", "HTTPAPI", "HTTPAPIOverHTTP2", "ServiceTesting",
                "CommonTesting", nioCore, nioPosix, nioSSL, logging, httpTypes, hummingbird, hummingbirdCore,
            ]),
        // MARK: Tests/Databases
        tests("Tests/Databases/PostgresClientTests", ["CommonTesting", "PostgresClient", "PostgresTesting"]),
        // MARK: Tests/Agent
        tests(
            "Tests/Agent/DeviceAgentTests",
            [
                "CommonTesting", "Notifications", "Storage", "Connections", "HTTPAPI", "APNSDevice", "DeviceAgent",
                "WebPushEncryption",
                "CPages", "HTTPAPIClient", "Service", "ServiceTesting", "carillon", "CarillonAgent", nioCore, nioPosix,
                httpTypes, hummingbird, logging,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ], exclude: ["Programs"]),
        // MARK: Tests/Service
        tests(
            "Tests/Service/DeliveryTests",
            ["Rates", "Notifications", "Storage", "Delivery", "DeliveryTesting", "SQLiteStore", "CommonTesting"]),
        tests(
            "Tests/Service/ProviderAPITests",
            [
                "Rates", "Notifications", "Connections", "Delivery", "Matching", "HTTP2", "ProviderAPI",
                "Management", "Service", "ServiceTesting", "CommonTesting", "CFaultyDisk", "Trust", nioCore, crypto,
            ]),
        tests(
            "Tests/Service/BinaryAPITests",
            [
                "Rates", "Notifications", "Storage", "Credentials", "Trust", "Delivery", "DeliveryTesting",
                "SQLiteStore",
                "CommonTesting",
                "Matching", "Rehearsals", "Stage", "Connections", "BinaryAPI", nioCore, nioPosix, nioSSL, crypto, deque,
                logging,
            ]),
        tests(
            "Tests/Service/CourierTests",
            [
                "CommonTesting", "Notifications", "Credentials", "Trust", "Delivery", "HTTP2", "Courier", "Management",
                "PrivateFiles",
                "Service",
                "ServiceTesting", "APNSDevice", nioCore, crypto,
            ]),
        tests(
            "Tests/Service/PeersTests",
            [
                "CommonTesting", "Notifications", "Credentials", "Trust", "Delivery", "Connections", "HTTP2", "Peers",
                nioCore,
                nioPosix, nioSSL, crypto, logging, inMemoryLogging,
            ]),
        tests(
            "Tests/Service/UpstreamTests",
            [
                "CommonTesting", "Notifications", "Trust", "Delivery", "HTTP2", "APNSProvider", "Upstream",
                "ProviderAPI", "Management", "Service", "ProviderTesting", "ServiceTesting", "DeliveryTesting",
                "Storage", "SQLiteStore", nioCore, nioPosix, crypto, logging, coreMetrics, grdb,
            ]),
        tests(
            "Tests/Service/WebPushTests",
            [
                "Rates", "Notifications", "Storage", "Trust", "Delivery", "Connections", "HTTPAPI", "HTTPAPIOverHTTP2",
                "WebPush", "ProviderAPI", "Management", "Service", "ServiceTesting", "ProviderTesting", "CommonTesting",
                "WebPushEncryption", nioCore, nioPosix, nioSSL, crypto, httpTypes, httpClient, logging,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        tests(
            "Tests/Service/DeliveryLogFilesTests",
            ["Notifications", "Delivery", "SQLiteStore", "CommonTesting", "DeliveryLogFiles"]),
        tests(
            "Tests/Service/ManagementTests",
            [
                "CommonTesting",
                "Rates", "Notifications", "Credentials", "Trust", "Delivery", "DeliveryTesting", "VirtualDevices",
                "Console",
                "HTTPAPI", "Management", "Rehearsals", "Service", "ServiceTesting", "APNSProvider", nioCore, nioPosix,
                nioEmbedded, nioSSL, crypto, httpClient,
                .product(name: "NIOHTTP1", package: "swift-nio"), httpTypes, nioHTTPTypes,
            ]),
        tests(
            "Tests/Service/ServiceTests",
            [
                "Rates", "Notifications", "Storage", "Credentials", "Trust", "Delivery", "Connections", "HTTP2",
                "ProviderAPI",
                "BinaryAPI", "Courier", "Management", "PrivateFiles", "SQLiteStore", "AccountTables", "SQLSupport",
                "Upstream", "Service",
                "ServiceTesting", "APNSDevice", "CFaultyDisk", "CommonTesting", "DeliveryTesting", nioCore, nioPosix,
                nioTLS, nioSSL, crypto, x509, logging, configuration, inMemoryLogging, grdb,
            ] + postgresTesting),
        // MARK: Tests/TestKit
        tests("Tests/TestKit/MatchingTests", ["Notifications", "Matching"]),
        tests("Tests/TestKit/JournalTests", ["CommonTesting", "Notifications", "Delivery", "Matching", "Journal"]),
        tests("Tests/TestKit/StageTests", ["Notifications", "Matching", "Stage", "HTTP2", nioCore]),
        tests("Tests/TestKit/RehearsalsTests", ["CommonTesting", "Notifications", "Matching", "Rehearsals"]),
        tests("Tests/TestKit/ReportsTests", ["Notifications", "Matching", "Reports"]),
        // The same over the wire, with a service: a change in one of these is green before a service is built.
        tests(
            "Tests/TestKit/TestKitWireTests",
            [
                "CommonTesting", "Notifications", "HTTP2", "ProviderAPI", "Management", "Service", "ServiceTesting",
                "APNSProvider", nioCore, nioSSL, .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        // MARK: Tests/Stores
        tests(
            "Tests/Stores/SQLiteStoreTests",
            [
                "Notifications", "Storage", "Delivery", "DeliveryTesting", "CommonTesting", "PrivateFiles",
                "AccountTables", "SQLiteSupport", "SQLiteStore", "CFaultyDisk", grdb,
            ], exclude: ["Databases"]),
        tests(
            "Tests/Stores/PostgresStoreTests",
            [
                "CommonTesting", "Notifications", "Storage", "Delivery", "DeliveryTesting", "PostgresClient",
                "PostgresSupport", "AccountTables", "PostgresStore", "PostgresTesting",
            ], exclude: ["Databases"]),
        // MARK: Tests/ProviderServer
        tests(
            "Tests/ProviderServer/ProviderServerTests",
            [
                "Rates", "Notifications", "Storage", "SQLSupport", "Delivery", "HTTP2", "HTTPAPI", "Management",
                "CampaignStore", "ProviderServer",
                "Service",
                "ServiceTesting", "Trust", "APNSProvider", "ProviderTesting", "CommonTesting", "CFaultyDisk", nioCore,
                nioPosix, nioEmbedded, nioSSL, crypto, cryptoExtras, logging, inMemoryLogging, lifecycle, httpTypes,
                httpClient,
                hummingbird, grdb, .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ] + postgresCampaignStore + postgresTesting),
        tests(
            "Tests/ProviderServer/CampaignStoreTests",
            ["Notifications", "Storage", "SQLSupport", "CommonTesting", "CampaignStore", grdb] + postgresCampaignStore
                + postgresTesting, exclude: ["Databases"]),
        // MARK: Tests/carillon
        tests(
            "Tests/carillon/CarillonCommandTests",
            [
                "CommonTesting", "Notifications", "HTTP2", "PrivateFiles", "Service", "Supervision", "APNSProvider",
                "ProviderTesting", "ServiceTesting", "carillon", "APNSDevice", "CommandSupport", "WebPushEncryption",
                nioCore,
                nioPosix, crypto, logging, argumentParser,
            ] + postgresTesting),
        // MARK: Tests/Journeys
        tests(
            "Tests/Journeys/JourneyTests",
            [
                "CommonTesting", "Rates", "Notifications", "Delivery", "Management", "Service", "APNSProvider",
                "APNSDevice", "ServiceTesting", "carillon", nioCore, nioPosix, nioSSL, httpClient, grdb, crypto,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ] + postgresTesting, exclude: ["Folders"]),
        // MARK: Tests/Documents
        tests(
            "Tests/Documents/DocumentsTests",
            ["CommonTesting", "Notifications", "Rates", "Matching", "ProviderAPI", "Service", "ProviderServer"]),
        // MARK: Tests/Fuzzing
        module(
            "Tests/Fuzzing/FuzzEntries",
            [
                "Notifications", "Credentials", "Trust", "Connections", "HTTP2Core", "ProviderAPI", "BinaryAPI",
                "Courier",
                "DeliveryLogFiles", "Matching", "Rehearsals", "VirtualDevices", "HTTPAPI", "Management",
                "CampaignStore", "ProviderServer", "Delivery", "WebPush", "DeviceAgent", nioCore, crypto, httpTypes,
                hummingbird,
            ]),
        tests("Tests/Fuzzing/FuzzEntriesTests", ["CommonTesting", "FuzzEntries"]),
        // MARK: Tests/Support
        module("Tests/Support/CommonTesting", [subprocess, systemPackage]),
        module("Tests/Support/DeliveryTesting", ["CommonTesting", "Notifications", "Storage", "Delivery"]),
        module("Tests/Support/PostgresTesting", ["CommonTesting", "PostgresClient"]),
        module(
            "Tests/Support/ProviderTesting",
            [
                "CommonTesting", "Notifications", "Credentials", "Trust", "HTTP2", "APNSProvider", nioCore, nioPosix,
                nioTLS, nioSSL,
                crypto,
            ]),
        module(
            "Tests/Support/ServiceTesting",
            [
                "CommonTesting", "Rates", "Notifications", "Storage", "Credentials", "Trust", "Delivery", "HTTP2",
                "ProviderAPI",
                "Management", "PrivateFiles",
                "DeliveryTesting", "SQLiteStore", "Service", "APNSProvider", "APNSDevice", "CFaultyDisk", nioCore,
                nioPosix, nioTLS, nioSSL, crypto, x509, asn1, logging, httpClient,
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"), grdb,
            ] + postgresTesting),
        .target(
            name: "CFaultyDisk", path: "Tests/Support/CFaultyDisk", linkerSettings: [.linkedLibrary("sqlite3")]
        ),
        // What HTTP2Core is compared with. Nothing else needs the library, so it is not asked for by pkg-config.
        .systemLibrary(name: "CNghttp2", path: "Tests/Support/CNghttp2"),
    ]
)

// What script/measure runs.
if Context.environment["CARILLON_MEASURE"] == "1" {
    package.targets.append(contentsOf: [
        .target(name: "CBareSQLite", path: "Tests/Support/CBareSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "Measurements",
            dependencies: ["Notifications", "Delivery", "DeliveryLogFiles", "SQLiteStore", "CBareSQLite"],
            path: "Tests/Support/Measurements",
            swiftSettings: settings,
        ),
    ])
}

// The fuzzer links with libFuzzer's own main function and takes every module instrumented: script/fuzz builds it.
if Context.environment["CARILLON_FUZZ"] == "1" {
    package.targets.append(
        .executableTarget(
            name: "Fuzzer",
            dependencies: ["FuzzEntries"],
            path: "Tests/Fuzzing/Fuzzer",
            swiftSettings: settings,
        ))
}

// What script/bench fills a data folder with, and what it measures the provider library with.
if Context.environment["CARILLON_BENCH"] == "1" {
    package.targets.append(
        .executableTarget(
            name: "ProviderBench",
            dependencies: ["APNSProvider", nioCore],
            path: "Benchmarks/Provider",
            swiftSettings: settings,
        ))
    package.targets.append(
        .executableTarget(
            name: "HTTP2CoreBench",
            dependencies: ["HTTP2Core", "CNghttp2", "CMalloc"],
            path: "Benchmarks/HTTP2",
            swiftSettings: settings,
        ))
    package.targets.append(
        .executableTarget(
            name: "Seed",
            dependencies: ["Notifications", "Trust", "Delivery", "SQLiteStore", "Service"],
            path: "Benchmarks/Seed",
            swiftSettings: settings,
        ))
}

// The tests of some targets alone: with CARILLON_TESTS=DeliveryTests,TrustTests nothing is built that these do not need.
if let only = Context.environment["CARILLON_TESTS"] {
    let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
    var needed: Set<String> = []
    var waiting = only.split(separator: ",").map(String.init)
    while let name = waiting.popLast() {
        guard let target = targets[name], needed.insert(name).inserted else { continue }
        for dependency in target.dependencies {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): waiting.append(name)
            default: break
            }
        }
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { product in
        switch product {
        case let library as Product.Library: !library.targets.allSatisfy(needed.contains)
        case let program as Product.Executable: !program.targets.allSatisfy(needed.contains)
        default: false
        }
    }
}
