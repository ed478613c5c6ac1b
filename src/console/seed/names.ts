// console seed: the words of a made-up organization. In: nothing. Out: lists. Some names are hostile on purpose: code
// that shows them must escape them.

export const FIRST_NAMES = [
  'Ada',
  'Alan',
  'Anna',
  'Ben',
  'Carla',
  'Chidi',
  'Clara',
  'Dana',
  'David',
  'Elena',
  'Emil',
  'Fatima',
  'Felix',
  'Grace',
  'Hana',
  'Hugo',
  'Ines',
  'Ivan',
  'Jonas',
  'Julia',
  'Kofi',
  'Lara',
  'Leo',
  'Lin',
  'Marta',
  'Max',
  'Mira',
  'Nadia',
  'Noah',
  'Olga',
  'Omar',
  'Paula',
  'Priya',
  'Rosa',
  'Sam',
  'Sofia',
  'Tariq',
  'Tom',
  'Vera',
  'Yuki',
  'Zoe',
  'Zsófia',
  'José',
  'Ørjan',
];
export const LAST_NAMES = [
  'Abe',
  'Almeida',
  'Bauer',
  'Becker',
  'Costa',
  'Dubois',
  'Eriksen',
  'Fischer',
  'Garcia',
  'Haddad',
  'Hansen',
  'Ivanova',
  'Jansen',
  'Kim',
  'Kovacs',
  'Lang',
  'Lopez',
  'Mensah',
  'Meyer',
  'Moreau',
  'Nakamura',
  'Nowak',
  'Okafor',
  'Patel',
  'Quinn',
  'Rossi',
  'Sato',
  'Schmidt',
  'Silva',
  'Tanaka',
  'Usman',
  'Vogel',
  'Weber',
  'Young',
  'Zhang',
  "O'Neill",
  'Müller',
  'Łukasz',
];
/** Full names in other scripts, as a directory has them. */
export const OTHER_NAMES = [
  '田中 太郎',
  '李小龙',
  'מרים כהן',
  'محمد الأحمد',
  'Ирина Петрова',
  'นภา ใจดี',
  'Νίκος Παπάς',
  '김민준',
];

export const GROUPS = [
  'Everyone',
  'Engineering',
  'Finance',
  'Sales',
  'Support',
  'HR',
  'IT Operations',
  'Contractors',
  'Executives',
  '開発部',
  'הנדסה',
  'R&D "core"',
  'Field <EMEA>',
];
export const ROLES = ['employee', 'contractor', 'engineer', 'finance', 'admin', 'mdm-managed'];

/** Device names that a careless page, log or parser stumbles over. */
export const HOSTILE_DEVICE_NAMES = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  `Robert'); DROP TABLE device;--`,
  'laptop :1234567890123456789, spare',
  '{"Banned":"TRUE"}',
  '=HYPERLINK("http://evil.example")',
  '営業部のノート💻',
  'جهاز المدير',
  '\u202Egpj.exe',
  'line\nbreak',
  'tab\there',
  'back\\slash "quoted"',
  '🧑🏽‍💻 mobile',
  '&lt;already&gt;',
  '__proto__',
  'x'.repeat(255),
];

/** Values of firmware whose fields nobody filled in. */
export const PLACEHOLDER_SERIALS = [
  'To Be Filled By O.E.M.',
  '',
  'Default string',
  '0',
  'System Serial Number',
  'None',
];

export const MDM_SOURCES = ['JAMF', 'Intune', 'WS1', 'Kandji', 'MobileIron'];

export interface PlatformKind {
  platform: string;
  models: string[];
  architectures: string[];
  systems: string[];
  serialPrefix: string;
  label: string;
}

export const PLATFORMS: readonly (readonly [PlatformKind, number])[] = [
  [
    {
      platform: 'macOS',
      models: ['MacBook Pro', 'MacBook Air', 'iMac', 'Mac mini', 'MacBook Pro 16"'],
      architectures: ['arm64', 'x86_64'],
      systems: ['macOS 15.5', 'macOS 14.7.1', 'macOS 26.1', 'macOS 13.6'],
      serialPrefix: 'C02',
      label: 'MacBook',
    },
    35,
  ],
  [
    {
      platform: 'Windows',
      models: ['ThinkPad T14', 'Latitude 7440', 'EliteBook 840', 'Surface Laptop 6', 'XPS 13'],
      architectures: ['x86_64', 'amd64'],
      systems: ['Windows 11 23H2', 'Windows 11 24H2', 'Windows 10 22H2', ''],
      serialPrefix: 'PF',
      label: 'LAPTOP',
    },
    30,
  ],
  [
    {
      platform: 'iOS',
      models: ['iPhone 15', 'iPhone 16 Pro', 'iPad Air'],
      architectures: ['arm64'],
      systems: ['iOS 18.5', 'iOS 17.7', 'iOS 26.0'],
      serialPrefix: 'F2L',
      label: 'iPhone',
    },
    18,
  ],
  [
    {
      platform: 'Android',
      models: ['Pixel 8', 'Galaxy S24', 'Galaxy Tab'],
      architectures: ['arm64', 'armv8'],
      systems: ['Android 15', 'Android 14', ''],
      serialPrefix: 'R5C',
      label: 'Android',
    },
    12,
  ],
  [
    {
      platform: 'Linux',
      models: ['ThinkPad X1', 'Precision 5680', 'NUC 13'],
      architectures: ['x86_64'],
      systems: ['Ubuntu 24.04', 'Fedora 42', 'Debian 12'],
      serialPrefix: 'LX',
      label: 'linux',
    },
    5,
  ],
];

export const OWNERSHIP_WEIGHTS: readonly (readonly [string, number])[] = [
  ['Corporate Dedicated', 60],
  ['Employee Owned', 28],
  ['Corporate Shared', 5],
  ['Other', 2],
  ['UNKNOWN', 2],
  ['Undefined', 1],
  ['', 2],
];

export const SERVICE_NAMES = [
  'wiki',
  'gitlab',
  'jenkins',
  'grafana',
  'vault',
  'erp',
  'crm',
  'payroll',
  'jira',
  'ssh-bastion',
  'rdp-finance',
  'k8s-prod',
  'mail-archive',
  'data-lake',
  'chat',
  'ldap',
  'artifacts',
  'intranet',
  'billing',
  'support-desk',
];
export const CLUSTERS = ['eu-west', 'us-east', 'global-edge'];
export const USER_AGENTS = [
  'Trustward-App/3.21.0',
  'Mozilla/5.0 (Macintosh)',
  'Mozilla/5.0 (Windows NT 10.0)',
  'curl/8.5.0',
];

/** Where people connect from. */
export const SITES = [
  { city: 'Lisbon', country: 'PT', region: 'Lisbon' },
  { city: 'Berlin', country: 'DE', region: 'Berlin' },
  { city: 'Lagos', country: 'NG', region: 'Lagos' },
  { city: 'Toronto', country: 'CA', region: 'Ontario' },
] as const;
