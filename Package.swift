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
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
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
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types", condition: service)
let histogram: Target.Dependency = .product(name: "Histogram", package: "hdrhistogram-swift", condition: service)
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird", condition: service)
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird", condition: service)
let hummingbirdHTTP2: Target.Dependency = .product(
    name: "HummingbirdHTTP2", package: "hummingbird", condition: service)
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: service)
// The store of a cluster, which needs libpq.
let postgres: TargetDependencyCondition? = .when(traits: ["PostgreSQL"])
let postgresClient: Target.Dependency = .target(name: "PostgresClient", condition: postgres)
let postgresSupport: Target.Dependency = .target(name: "PostgresSupport", condition: postgres)
let postgresStore: [Target.Dependency] = [
    postgresClient, postgresSupport, .target(name: "PostgresStore", condition: postgres),
]
let postgresProviderStore: [Target.Dependency] = [
    postgresSupport, .target(name: "PostgresProviderStore", condition: postgres),
]
let postgresTesting: [Target.Dependency] = [
    postgresClient, .target(name: "PostgresTesting", condition: postgres),
]
let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system", condition: service)

let package = Package(
    name: "carillon",
    platforms: [.macOS(.v26)],
    products: [
        .executable(name: "carillon", targets: ["carillon"]),
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
    ],
    targets: [
        .target(name: "Notifications", swiftSettings: settings),
        .target(
            name: "Trust",
            dependencies: ["Notifications", crypto, cryptoExtras, x509, asn1],
            swiftSettings: settings,
        ),
        .target(name: "Matching", dependencies: ["Notifications"], swiftSettings: settings),
        .target(
            name: "Journal", dependencies: ["Notifications", "Delivery", "Matching", deque], swiftSettings: settings),
        .target(
            name: "VirtualDevices", dependencies: ["Notifications", "Trust", "Delivery", heap],
            swiftSettings: settings),
        .target(name: "Reports", dependencies: ["Notifications", "Matching"], swiftSettings: settings),
        .target(name: "Rehearsals", dependencies: ["Notifications", "Matching"], swiftSettings: settings),
        .target(name: "Rates", swiftSettings: settings),
        .target(name: "Delivery", dependencies: ["Notifications", "Rates", deque], swiftSettings: settings),
        .target(name: "PrivateFiles", dependencies: ["Delivery"], swiftSettings: settings),
        .target(name: "PrometheusMetrics", dependencies: [coreMetrics], swiftSettings: settings),
        .target(name: "DeliveryLogFiles", dependencies: ["Notifications", "Delivery"], swiftSettings: settings),
        .systemLibrary(
            name: "CNghttp2",
            pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"]), .brew(["libnghttp2"])],
        ),
        .systemLibrary(name: "CMalloc"),
        .target(
            name: "Connections",
            dependencies: ["Rates", nioCore, nioPosix, nioTLS, nioSSL, logging],
            swiftSettings: settings,
        ),
        .target(
            name: "HTTP2",
            dependencies: ["Rates", "Connections", "CNghttp2", nioCore, nioPosix, nioSSL],
            swiftSettings: settings,
        ),
        .target(
            name: "ProviderGateway",
            dependencies: [
                "Rates", "Notifications", "Trust", "Delivery", "Matching", "Connections", "HTTP2", nioCore, crypto,
                deque,
            ],
            swiftSettings: settings,
        ),
        .target(
            name: "BinaryGateway",
            dependencies: [
                "Rates", "Notifications", "Trust", "Delivery", "Matching", "Connections", nioCore, nioSSL, deque,
            ],
            swiftSettings: settings,
        ),
        .target(
            name: "Courier",
            dependencies: ["Rates", "Notifications", "Trust", "Delivery", "Connections", "HTTP2", nioCore, deque],
            swiftSettings: settings,
        ),
        .target(
            name: "Peers",
            dependencies: [
                "Notifications", "Trust", "Delivery", "Connections", "HTTP2", nioCore, nioPosix, nioSSL, logging,
            ],
            swiftSettings: settings,
        ),
        .target(
            name: "SQLiteSupport", dependencies: ["Delivery", "PrivateFiles", grdb],
            swiftSettings: settings),
        .target(
            name: "SQLiteStore",
            dependencies: ["Notifications", "Delivery", "PrivateFiles", "SQLiteSupport", grdb],
            swiftSettings: settings,
        ),
        .systemLibrary(
            name: "CPostgres",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])],
        ),
        .target(name: "PostgresClient", dependencies: ["CPostgres"], swiftSettings: settings),
        .target(
            name: "PostgresSupport", dependencies: ["Notifications", "Delivery", "PostgresClient", crypto],
            swiftSettings: settings),
        .target(
            name: "PostgresStore",
            dependencies: ["Notifications", "Delivery", "PostgresClient", "PostgresSupport"],
            swiftSettings: settings,
        ),
        .target(
            name: "MemoryStore",
            dependencies: ["Notifications", "Delivery", deque, heap],
            swiftSettings: settings,
        ),
        .target(
            name: "APNSProvider",
            dependencies: [
                "Notifications", "Trust", "Connections", "HTTP2", nioCore, nioPosix, nioTLS, nioSSL, crypto, deque,
                logging, metrics, coreMetrics, tracing, lifecycle,
            ],
            swiftSettings: settings,
        ),
        .target(
            name: "ProviderStore",
            dependencies: ["Notifications", "Delivery", "PrivateFiles", "SQLiteSupport", grdb],
            swiftSettings: settings),
        .target(
            name: "PostgresProviderStore",
            dependencies: ["Notifications", "Delivery", "PostgresClient", "PostgresSupport", "ProviderStore"],
            swiftSettings: settings),
        .target(
            name: "Console",
            dependencies: ["Notifications", "Connections", crypto, httpTypes, hummingbird],
            // What all consoles share, in the binary itself: no folder has to lie beside it.
            resources: [.embedInCode("Files")],
            swiftSettings: settings,
        ),
        .target(
            name: "ProviderServer",
            dependencies: [
                "Rates", "Notifications", "Delivery", "Connections", "Console", "PrivateFiles", "ProviderStore",
                "APNSProvider", nioCore, nioPosix, nioSSL, crypto, cryptoExtras, logging, lifecycle, coreMetrics,
                httpTypes, httpClient, hummingbird, hummingbirdCore, hummingbirdHTTP2, nioHTTPTypes,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ] + [postgresClient] + postgresProviderStore,
            // The page in the browser, in the binary itself.
            resources: [.embedInCode("Console/Files")],
            swiftSettings: settings,
        ),
        .target(
            name: "APNSDevice",
            dependencies: [
                "Notifications", "Trust", "Connections", "HTTP2", nioCore, nioPosix, nioSSL, crypto, deque,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings,
        ),
        .target(
            name: "Management",
            dependencies: [
                "Rates", "Notifications", "Trust", "Delivery", "DeliveryLogFiles", "Matching", "Journal",
                "VirtualDevices", "Rehearsals", "Reports", "Connections", "Console", nioCore, nioPosix,
                nioSSL, crypto, logging,
                httpTypes,
                nioHTTPTypes,
                hummingbird,
                hummingbirdCore,
            ],
            // The console, in the binary itself: no folder has to lie beside it.
            resources: [.embedInCode("Console/Files")],
            swiftSettings: settings,
        ),
        .target(
            name: "Service",
            dependencies: [
                "Rates", "Notifications", "Trust", "Delivery", "DeliveryLogFiles", "Matching", "Journal",
                "VirtualDevices", "Rehearsals", "Connections", "HTTP2",
                "ProviderGateway", "BinaryGateway", "Courier", "Peers", "Management", "CMalloc", "PrivateFiles",
                "MemoryStore",
                "SQLiteStore", "PrometheusMetrics", coreMetrics,
                nioCore, nioPosix, nioSSL, crypto, logging, lifecycle,
                configuration,
            ] + postgresStore,
            swiftSettings: settings,
        ),
        .target(
            name: "CVersion",
            cSettings: Context.environment["CARILLON_COMMIT"].map { [.define("CARILLON_COMMIT", to: "\"\($0)\"")] }
        ),
        .executableTarget(
            name: "carillon",
            dependencies: [
                "Notifications", "Trust", "Delivery", "DeliveryLogFiles", "Matching", "Journal", "VirtualDevices",
                "Connections", "Management", "PrivateFiles",
                "Service", "ProviderServer", "PrometheusMetrics", coreMetrics,
                "APNSProvider",
                "APNSDevice", "CVersion", nioCore, nioPosix, nioSSL, crypto, logging, lifecycle,
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                httpClient,
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                systemPackage,
                argumentParser,
                configuration,
                histogram,
            ],
            swiftSettings: settings,
        ),
        .target(
            name: "CarillonTesting",
            dependencies: [
                "Notifications", "Matching", "APNSProvider", "Service", nioCore, logging,
                httpClient,
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "CarillonTestingTests", dependencies: ["APNSProvider", "CarillonTesting"], swiftSettings: settings),
        .target(name: "CommonTesting", path: "Tests/CommonTesting", swiftSettings: settings),
        .target(
            name: "DeliveryTesting",
            dependencies: ["Notifications", "Delivery"],
            path: "Tests/DeliveryTesting",
            swiftSettings: settings,
        ),
        .testTarget(
            name: "PeersTests",
            dependencies: [
                "Notifications", "Trust", "Delivery", "Connections", "HTTP2", "Peers", nioCore, nioPosix, nioSSL,
                crypto,
                logging,
            ],
            swiftSettings: settings,
        ),
        .testTarget(name: "RatesTests", dependencies: ["Rates"], swiftSettings: settings),
        .testTarget(
            name: "JournalTests", dependencies: ["Notifications", "Delivery", "Matching", "Journal"],
            swiftSettings: settings),
        .testTarget(
            name: "ReportsTests", dependencies: ["Notifications", "Matching", "Reports"], swiftSettings: settings),
        .testTarget(
            name: "RehearsalsTests", dependencies: ["Notifications", "Matching", "Rehearsals"], swiftSettings: settings),
        .testTarget(name: "MatchingTests", dependencies: ["Notifications", "Matching"], swiftSettings: settings),
        .testTarget(
            name: "NotificationsTests", dependencies: ["Notifications", "CommonTesting"], swiftSettings: settings),
        .testTarget(
            name: "TrustTests",
            dependencies: [
                "Notifications", "Trust", "CommonTesting", crypto, x509, asn1, nioCore, nioPosix, nioTLS, nioSSL,
            ],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "DeliveryTests",
            dependencies: ["Rates", "Notifications", "Delivery", "DeliveryTesting", "MemoryStore", "CommonTesting"],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "PrometheusMetricsTests",
            dependencies: ["PrometheusMetrics", coreMetrics],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "DeliveryLogFilesTests",
            dependencies: ["Notifications", "Delivery", "MemoryStore", "CommonTesting", "DeliveryLogFiles"],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "ConnectionsTests",
            dependencies: ["Rates", "Connections", nioCore, nioEmbedded, nioSSL, logging, inMemoryLogging],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "BinaryGatewayTests",
            dependencies: [
                "Rates", "Notifications", "Trust", "Delivery", "DeliveryTesting", "MemoryStore", "CommonTesting",
                "Matching", "Rehearsals", "Connections",
                "BinaryGateway", nioCore, nioPosix, nioSSL, crypto, deque, logging,
            ],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "HTTP2Tests",
            dependencies: ["Rates", "Connections", "HTTP2", nioCore, nioPosix, nioEmbedded, nioSSL],
            swiftSettings: settings,
        ),
        .target(name: "CFaultyDisk", path: "Tests/CFaultyDisk", linkerSettings: [.linkedLibrary("sqlite3")]),
        .testTarget(
            name: "PrivateFilesTests", dependencies: ["Delivery", "PrivateFiles", "CommonTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "SQLiteStoreTests",
            dependencies: [
                "Notifications", "Delivery", "DeliveryTesting", "CommonTesting", "PrivateFiles", "SQLiteSupport",
                "SQLiteStore",
                "CFaultyDisk",
                grdb,
            ],
            swiftSettings: settings,
        ),
        .target(
            name: "PostgresTesting",
            dependencies: ["PostgresClient"],
            path: "Tests/PostgresTesting",
            swiftSettings: settings,
        ),
        .testTarget(
            name: "PostgresClientTests",
            dependencies: ["PostgresClient", "PostgresTesting"],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "PostgresStoreTests",
            dependencies: [
                "Notifications", "Delivery", "DeliveryTesting", "PostgresClient", "PostgresSupport", "PostgresStore",
                "PostgresTesting",
            ],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "ConsoleTests", dependencies: ["Notifications", "Console", httpTypes], swiftSettings: settings),
        .testTarget(
            name: "ManagementTests",
            dependencies: [
                "Notifications", "Trust", "Delivery", "DeliveryTesting", "Console", "Management", "Service",
                "ServiceTesting", "APNSProvider", nioCore, nioPosix, nioEmbedded, nioSSL, crypto,
                httpClient,
                .product(name: "NIOHTTP1", package: "swift-nio"),
                httpTypes,
                nioHTTPTypes,
            ],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "MemoryStoreTests",
            dependencies: ["Notifications", "Delivery", "DeliveryTesting", "MemoryStore"],
            swiftSettings: settings,
        ),
        .target(
            name: "FuzzEntries",
            dependencies: [
                "Notifications", "Trust", "Connections", "ProviderGateway", "BinaryGateway", "Courier", nioCore, crypto,
            ],
            path: "Tests/FuzzEntries",
            swiftSettings: settings,
        ),
        .testTarget(
            name: "APNSDeviceTests",
            dependencies: [
                "Notifications", "Trust", "HTTP2", "APNSDevice", "CommonTesting", nioCore, nioPosix, nioSSL, crypto,
            ],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "DocumentsTests", dependencies: ["Notifications", "Rates", "Service", "ProviderServer"],
            swiftSettings: settings),
        .testTarget(name: "FuzzEntriesTests", dependencies: ["FuzzEntries"], swiftSettings: settings),
        .target(
            name: "ProviderTesting",
            dependencies: [
                "Notifications", "Trust", "HTTP2", "APNSProvider", nioCore, nioPosix, nioTLS, nioSSL, crypto,
            ],
            path: "Tests/ProviderTesting",
            swiftSettings: settings,
        ),
        .testTarget(
            name: "APNSProviderTests",
            dependencies: [
                "Notifications", "Trust", "Connections", "HTTP2", "APNSProvider", "ProviderTesting", nioCore, nioSSL,
                crypto, logging, lifecycle,
                inMemoryLogging,
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"), coreMetrics, tracing,
            ],
            swiftSettings: settings,
        ),
        .target(
            name: "ServiceTesting",
            dependencies: [
                "Rates", "Notifications", "Trust", "Delivery", "HTTP2", "ProviderGateway", "Management", "PrivateFiles",
                "DeliveryTesting", "SQLiteStore", "Service", "APNSProvider", "APNSDevice", "CFaultyDisk", nioCore,
                nioPosix, nioSSL,
                crypto, x509, asn1, logging,
                httpClient,
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                grdb,
            ],
            path: "Tests/ServiceTesting",
            swiftSettings: settings,
        ),
        .testTarget(
            name: "ProviderGatewayTests",
            dependencies: [
                "Rates", "Notifications", "Connections", "Delivery", "Matching", "HTTP2", "ProviderGateway",
                "Management", "Service",
                "ServiceTesting", "CFaultyDisk", nioCore, crypto,
            ],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "ProviderStoreTests",
            dependencies: ["Notifications", "Delivery", "CommonTesting", "ProviderStore"] + postgresProviderStore
                + postgresTesting,
            swiftSettings: settings,
        ),
        .testTarget(
            name: "ProviderServerTests",
            dependencies: [
                "Rates", "Notifications", "Delivery", "Management", "ProviderStore", "ProviderServer", "Service",
                "ServiceTesting", "Trust", "APNSProvider", "CommonTesting", "CFaultyDisk", nioCore, nioPosix,
                nioEmbedded,
                nioSSL, crypto, cryptoExtras,
                logging,
                inMemoryLogging,
                lifecycle,
                httpTypes, httpClient, hummingbird, grdb,
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ] + postgresProviderStore + postgresTesting,
            swiftSettings: settings,
        ),
        .testTarget(
            name: "CourierTests",
            dependencies: [
                "Notifications", "Trust", "Delivery", "HTTP2", "Courier", "Management", "PrivateFiles", "Service",
                "ServiceTesting", "APNSDevice", nioCore, crypto,
            ],
            swiftSettings: settings,
        ),
        .testTarget(
            name: "ServiceTests",
            dependencies: [
                "Rates", "Notifications", "Trust", "Delivery", "Connections", "HTTP2", "ProviderGateway",
                "BinaryGateway", "Courier", "Management", "PrivateFiles", "SQLiteStore", "MemoryStore",
                "VirtualDevices",
                "Service", "ServiceTesting", "APNSProvider", "APNSDevice", "CFaultyDisk", "CommonTesting",
                "DeliveryTesting",
                nioCore, nioPosix, nioTLS, nioSSL, crypto, x509, logging,
                configuration,
                httpClient,
                .product(name: "NIOHTTP1", package: "swift-nio"),
                inMemoryLogging,
                grdb,
            ] + postgresTesting,
            swiftSettings: settings,
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "Notifications", "Trust", "Delivery", "HTTP2", "Service", "APNSProvider", "ProviderTesting",
                "APNSDevice", "ServiceTesting",
                "carillon",
                nioCore, nioPosix, nioSSL, crypto, logging, grdb,
            ] + postgresTesting,
            // Tests in Python (see script/clients), and data folders of earlier releases.
            exclude: ["Clients", "Console", "Folders"],
            swiftSettings: settings,
        ),
    ]
)

// What script/measure runs.
if Context.environment["CARILLON_MEASURE"] == "1" {
    package.targets.append(contentsOf: [
        .target(name: "CBareSQLite", path: "Tests/CBareSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "Measurements",
            dependencies: ["Notifications", "Delivery", "DeliveryLogFiles", "SQLiteStore", "CBareSQLite"],
            path: "Tests/Measurements",
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
            path: "Tests/Fuzzer",
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
            name: "Seed",
            dependencies: ["Notifications", "Trust", "Delivery", "SQLiteStore", "Service"],
            path: "Benchmarks/Seed",
            swiftSettings: settings,
        ))
}
